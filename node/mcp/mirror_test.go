package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestMirrors checks that a call whose routing header differs from its argument is rejected before it is decoded,
// also for tools that the library's own check skips.
func TestMirrors(t *testing.T) {
	t.Parallel()
	tools, _ := list(t, api.ToolsFull)
	marked := 0
	for _, tool := range tools {
		props, _ := tool.InputSchema["properties"].(map[string]any)
		if p, ok := props["namespace"].(map[string]any); ok {
			marked++
			if p["x-mcp-header"] != "Namespace" {
				t.Errorf("%s: %v", tool.Name, p)
			}
		}
	}
	if marked < 5 {
		t.Errorf("%d tools have a namespace", marked)
	}
	for _, x := range []struct {
		header, arguments string
		passes            bool
	}{
		{"agents/one", `{"query":"x","namespace":"agents/one"}`, true},
		{"=?base64?w6k=?=", `{"query":"x","namespace":"é"}`, true},
		{"", `{"query":"x","namespace":"agents/one"}`, true},
		{"agents/one", `{"query":"x","namespace":"agents/two"}`, false},
		{"agents/one", `{"query":"x","Namespace":"agents/one"}`, false},
		{"agents/one", `{"query":"x","namespace":"agents/two","Namespace":"agents/one"}`, false},
		{"agents/one", `{"query":"x"}`, false},
		{"agents/one", `{"query":"x","namespace":null}`, false},
		{"7", `{"query":"x","namespace":7}`, false},
		{"=?base64?%?=", `{"query":"x","namespace":"é"}`, false},
		{"agents/one", `[]`, false},
	} {
		message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"recall","arguments":` + x.arguments + `}}`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if x.header != "" {
			r.Header.Set("Mcp-Param-Namespace", x.header)
		}
		w := httptest.NewRecorder()
		New(Config{Door: counting{}, Version: "test"}).Serve(w, r, api.Caller{}, []byte(message), nil)
		refused := w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), `"code":-32020`) &&
			strings.Contains(w.Body.String(), `"id":7`)
		if refused == x.passes || !refused && w.Code != http.StatusOK {
			t.Errorf("%q, %s: %d %s", x.header, x.arguments, w.Code, w.Body)
		}
	}
}
