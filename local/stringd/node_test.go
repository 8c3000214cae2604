package stringd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs a node script against a fresh daemon.
func script(t *testing.T, name, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: its clients cannot be tried")
	}
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, nil)
	c := exec.CommandContext(t.Context(), node, path, d.url)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNodeClient runs the client checklist of the protocol in another language.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	script(t, "client.mjs", "")
}

// sdk returns a directory in which @modelcontextprotocol/sdk and /conformance are installed.
func sdk(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CAIRN_MCP_SDK")
	if dir == "" {
		t.Skip("CAIRN_MCP_SDK names no directory with the packages @modelcontextprotocol/sdk and @modelcontextprotocol/conformance")
	}
	return dir
}

func TestMCPOfficialClient(t *testing.T) {
	t.Parallel()
	script(t, "mcp.mjs", sdk(t))
}

func TestMCPConformance(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(sdk(t), "node_modules", ".bin", "conformance")
	d := start(t, nil)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), bin, "server", "--url", d.url+"/mcp", "--scenario", scenario)
			c.Dir = t.TempDir()
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out[max(0, len(out)-2000):])
			}
		})
	}
}
