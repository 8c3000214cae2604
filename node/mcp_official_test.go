package node_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// officialTools installs the official SDK, its conformance tests and the node they need, or says why it cannot.
func officialTools(t *testing.T) (dir, nodejs string) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in -short: installs packages from npm")
	}
	for _, bin := range []string{"node", "npm"} {
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("%s is not installed: the official SDK is not run", bin)
		}
	}
	if os.Getenv("CAIRN_NPM") == "" {
		t.Skip("CAIRN_NPM is not set: packages are fetched from npm only where that is wanted")
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true,"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := suite.Context(t)
	run := func(wd string, args ...string) {
		t.Helper()
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Dir = wd
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run(dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "node@22", "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/conformance@0.1.16")
	run(filepath.Join(dir, "node_modules", "node"), "node", "installArchSpecificPackage.js")
	return dir, filepath.Join(dir, "node_modules", "node", "bin", "node")
}

func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	dir, nodejs := officialTools(t)
	c := start(t, 3)
	follower := c.web((c.leader() + 1) % 3)
	script, err := os.ReadFile("testdata/mcp_sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sdk.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := suite.Context(t)
	cmd := exec.CommandContext(ctx, nodejs, "sdk.mjs", follower.base+"/mcp", secret)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("official SDK: %v\n%s", err, out)
	}
	conformance(t, dir, nodejs, follower)
}

// applicable are the scenarios about what every server has. The others ask for tools, prompts and resources of their
// own by name, or for what a server that answers each exchange by itself has not: subscriptions and streams that are
// taken up again.
var applicable = []string{"server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"}

func conformance(t *testing.T, dir, nodejs string, w *web) {
	target, err := url.Parse(w.base)
	if err != nil {
		t.Fatal(err)
	}
	// The tool cannot send a token; this adds it and changes nothing else.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+secret)
	}, ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, err error) { rw.WriteHeader(http.StatusBadGateway) }})
	defer proxy.Close()
	cli := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, scenario := range applicable {
		t.Run(scenario, func(t *testing.T) {
			ctx := suite.Context(t)
			cmd := exec.CommandContext(ctx, nodejs, cli, "server", "--url", strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1)+"/mcp", "--scenario", scenario)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
				return
			}
			if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) > 0 {
				t.Log(lines[len(lines)-1])
			}
		})
	}
}
