package main

import (
	"bufio"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

//go:embed testdata/*.mjs
var clientScripts embed.FS

// TestMem0Client runs mem0's own npm client against a follower of three nodes, and kills the leader in between.
func TestMem0Client(t *testing.T) { driveClient(t, "mem0.mjs", "mem0ai@3.3.1") }

// TestMemoryStoresClient does the same with Anthropic's own client, and calls all methods of its memory stores.
func TestMemoryStoresClient(t *testing.T) {
	driveClient(t, "memorystores.mjs", "@anthropic-ai/sdk@1.14.0")
}

func driveClient(t *testing.T, name, pack string) {
	t.Helper()
	suite.Full(t)
	t.Parallel()
	if os.Getenv("CAIRN_NPM") == "" {
		t.Skip("CAIRN_NPM is not set: packages are fetched from npm only where that is wanted")
	}
	for _, bin := range []string{"node", "npm"} {
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("%s is not installed: %s is not run", bin, pack)
		}
	}
	dir := t.TempDir()
	install := exec.CommandContext(suite.Context(t), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", pack)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := clientScripts.ReadFile("testdata/" + name)
	script := filepath.Join(dir, name)
	if err == nil {
		err = os.WriteFile(script, program, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	nodes, token := startThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	cmd := exec.CommandContext(suite.Context(t), "node", script, nodes[(l+1)%3].Line.HTTP, token)
	cmd.Env = append(os.Environ(), "MEM0_TELEMETRY=false", "HOME="+dir)
	var failed strings.Builder
	cmd.Stderr = &failed
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if last = lines.Text(); last == "leader" {
			nodes[l].Kill()
			if _, err := in.Write([]byte("\n")); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || last != "done" {
		t.Errorf("%s: %v, last %q\n%s", pack, err, last, failed.String())
	}
}
