package node_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestPagesBesideTheTable checks the routes that are not in the table of operations, with valid and invalid requests:
// pages, metrics and the tools for models.
func TestPagesBesideTheTable(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	revoked := w.ok("POST", "/v1/admin/tokens", obj{"scopes": []string{"read"}})["token"].(string)
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": revoked})
	plain := w.ok("POST", "/v1/admin/tokens", obj{"scopes": []string{"read", "write"}})["token"].(string)
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, c := range []struct {
		method, path, token, body string
		status                    int
		holds                     string
	}{
		{"GET", "/", "", "", 200, `<script type="module" src="/console/main.js">`},
		{"GET", "/console/main.js", "", "", 200, "import"},
		{"GET", "/console/nothing.js", "", "", 404, ""},
		{"POST", "/", "", "", 405, "not allowed: want "},
		{"DELETE", "/metrics", "", "", 405, "not allowed: want "},
		{"PUT", "/openapi.json", "", "", 405, "not allowed: want "},
		{"GET", "/docs", "", "", 200, "X-Cairn-Forward"},
		{"GET", "/docs", "", "", 200, "There is no such database, or nothing of that name."},
		{"GET", "/docs/docs.js", "", "", 200, "replaceState"},
		{"GET", "/docs/nothing.js", "", "", 404, ""},
		{"POST", "/mcp", secret, rpc, 200, `"remember"`},
		{"POST", "/mcp", "", rpc, 401, "missing Bearer token"},
		{"POST", "/mcp", "wrong", rpc, 401, "invalid or revoked token"},
		{"POST", "/mcp", revoked, rpc, 401, "invalid or revoked token"},
		{"POST", "/mcp?database=elsewhere", plain, rpc, 404, "database 'elsewhere' not found"},
		{"POST", "/mcp", secret, `{"jsonrpc":`, 400, ""},
		{"POST", "/mcp", secret, `{"jsonrpc":"2.0","id":1,"method":"levitate"}`, 400, "levitate"},
		{"POST", "/mcp", secret, strings.Replace(rpc, "}", `,"params":{"x":"`+strings.Repeat("x", 5<<20)+`"}}`, 1), 413, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, w.base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(b), c.holds) {
			t.Errorf("%s %s: %d %.300s, want %d %q", c.method, c.path, resp.StatusCode, b, c.status, c.holds)
		}
		if (c.path == "/" || c.path == "/docs") && c.method == "GET" {
			if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'") ||
				strings.Contains(policy, "unsafe") {
				t.Errorf("policy %q", policy)
			}
		}
	}
}
