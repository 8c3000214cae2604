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
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// officialTools installs the official SDK, its conformance tests and their version of Node.js, or returns the reason
// why it cannot.
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
	run(dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "node@22", "@modelcontextprotocol/sdk@1.32.2",
		"@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/server-memory@2026.8.31",
		"@modelcontextprotocol/conformance@0.1.16", "conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12")
	run(filepath.Join(dir, "node_modules", "node"), "node", "installArchSpecificPackage.js")
	return dir, filepath.Join(dir, "node_modules", "node", "bin", "node")
}

func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	dir, nodejs := officialTools(t)
	c := start(t, 3)
	follower := c.web((c.leader() + 1) % 3)
	for _, script := range []struct { // in this order, because the second stores memories
		name string
		more []string
	}{{"mcp_sdk.mjs", nil},
		{"mcp_memory.mjs", []string{"node_modules/@modelcontextprotocol/server-memory/dist/index.js",
			filepath.Join(dir, "memory.jsonl")}}} {
		text, err := os.ReadFile(filepath.Join("testdata", script.name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, script.name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(suite.Context(t), nodejs,
			append([]string{script.name, follower.base + "/mcp", secret}, script.more...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script.name, err, out)
		}
	}
	conformance(t, dir, nodejs, follower)
	runOAuthClients(t, dir, nodejs)
}

// runOAuthClients gets a token with the official clients, through a proxy that sends each exchange to another node.
func runOAuthClients(t *testing.T, dir, nodejs string) {
	t.Helper()
	var c *cluster
	var n atomic.Int64
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", c.nodes[n.Add(1)%3].Addrs().HTTP
	}})
	defer front.Close()
	c = startWith(t, 3, func(_ int, cfg *node.Config) { cfg.OAuth.Issuer = front.URL })
	mine := c.web(0).createToken(obj{"label": "mine"})
	for i := range c.nodes {
		suite.Eventually(t, "the token is known",
			func() bool { status, _ := c.web(i).with(mine).send("GET", "/v1/stats", nil); return status == 200 })
	}
	text, err := os.ReadFile(filepath.Join("testdata", "mcp_oauth.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp_oauth.mjs"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sdk := range []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/client"} {
		cmd := exec.CommandContext(suite.Context(t), nodejs, "mcp_oauth.mjs", front.URL+"/mcp", mine, sdk)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", sdk, err, out)
		}
	}
}

// applicable lists the scenarios that apply to every server, for each version of the protocol. The others need
// specific tools, prompts and resources, or features that a stateless server lacks: subscriptions and resumable
// streams.
var applicable = []struct {
	program, version string
	scenarios        []string
}{
	{"@modelcontextprotocol/conformance", "2025-11-25",
		[]string{"server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list", "resources-list",
			"prompts-list", "dns-rebinding-protection"}},
	{"conformance-2026", "2026-07-28",
		[]string{"completion-complete", "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found",
			"caching", "http-header-validation", "dns-rebinding-protection"}},
}

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
	for _, a := range applicable {
		cli := filepath.Join(dir, "node_modules", filepath.FromSlash(a.program), "dist", "index.js")
		for _, scenario := range a.scenarios {
			t.Run(a.version+" "+scenario, func(t *testing.T) {
				cmd := exec.CommandContext(suite.Context(t), nodejs, cli, "server", "--url",
					strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1)+"/mcp",
					"--scenario", scenario, "--spec-version", a.version)
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
}
