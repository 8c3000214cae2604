package node_test

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
)

// TestSignInLink checks that a sign-in link gives the console the home's token once, only to a page of this node in a
// browser on the same machine. Neither the link nor an error contains the token, and no log line contains the code.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	log := &lines{}
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		_, port, _ := net.SplitHostPort(cfg.Addresses.HTTP)
		cfg.Addresses.HTTP, cfg.Addresses.AdvertiseHTTP = "0.0.0.0:"+port, "127.0.0.1:"+port
		cfg.Tokens.EnsureHome, cfg.Logger = true, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	raw, err := os.ReadFile(filepath.Join(c.cfgs[0].Home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(raw))
	_, port, err := net.SplitHostPort(c.nodes[0].Addrs().HTTP)
	if err != nil {
		t.Fatal(err)
	}
	base := "http://127.0.0.1:" + port
	link, err := c.nodes[0].SignInLink(base)
	code, ok := strings.CutPrefix(link, base+"/#sign-in=")
	if err != nil || !ok || len(code) != 32 || strings.Contains(link, token) {
		t.Fatalf("link %q, %v", link, err)
	}
	ask := func(base, code string, header ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/console/sign-in", strings.NewReader(`{"code":"`+code+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if len(header) > 0 {
			req.Header.Set(header[0], header[1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body struct{ Token, Error string }
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK && resp.Header.Get("Cache-Control") != "no-store" {
			t.Error("a browser may keep the answer")
		}
		return resp.StatusCode, body.Token
	}
	refused := func(what, base, code string, header ...string) {
		t.Helper()
		if status, got := ask(base, code, header...); status != http.StatusUnauthorized || got != "" {
			t.Errorf("%s: %d %q", what, status, got)
		}
	}
	refused("a wrong code", base, strings.Repeat("0", 32))
	refused("no code", base, "")
	refused("a page of another origin", base, code, "Origin", "http://evil.example")
	refused("a page of another site", base, code, "Sec-Fetch-Site", "cross-site")
	refused("through a proxy", base, code, "X-Forwarded-For", "203.0.113.9")
	if elsewhere := ownAddress(t); elsewhere != "" {
		refused("another address", "http://"+net.JoinHostPort(elsewhere, port), code)
	}
	if status, got := ask(base, code, "Origin", base); status != http.StatusOK || got != token {
		t.Errorf("the first time: %d", status)
	}
	refused("the second time", base, code)
	if said := log.String(); strings.Contains(said, code) || strings.Contains(said, token) {
		t.Error("the log has the code or the token")
	}
}

// ownAddress returns an address of this machine that is not loopback.
func ownAddress(t *testing.T) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Log("this machine has no address but loopback: no request comes from elsewhere")
	return ""
}
