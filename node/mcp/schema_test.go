package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/prompt"
)

// A listed tool is a tool as the server describes it to a model.
type listed struct {
	Name, Title, Description  string
	InputSchema, OutputSchema map[string]any
	Annotations               map[string]any
}

// list returns the tools of a profile, and the JSON of all.
func list(t *testing.T, profile string) (tools []listed, whole string) {
	t.Helper()
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp?tools="+profile, strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	New(Config{Door: counting{}, Version: "test"}).Serve(w, r, api.Caller{}, []byte(message), nil)
	var said struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := errors.Join(json.Unmarshal(w.Body.Bytes(), &said), json.Unmarshal(said.Result.Tools, &tools)); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return tools, string(said.Result.Tools)
}

// TestWhatToolsCost checks that the tools of core, which is the default profile, cost at most 2,000 tokens.
func TestWhatToolsCost(t *testing.T) {
	t.Parallel()
	for _, profile := range api.ToolProfiles {
		_, whole := list(t, profile)
		n := prompt.Tokens(whole)
		if t.Logf("%s: %d tokens", profile, n); profile == api.ToolsCore && n > 2000 {
			t.Errorf("core costs %d tokens", n)
		}
	}
	_, core := list(t, api.ToolsCore)
	if _, usual := list(t, ""); usual != core {
		t.Error("core is not the default")
	}
}

// TestTools lints the descriptions of tools: each has a title, a text, annotations and a schema, and each field a
// description.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, profile := range api.ToolProfiles {
		want := 9
		if profile == api.ToolsFull {
			want = 0
			for _, op := range api.Ops {
				if op.Tool != nil {
					want++
				}
			}
		}
		tools, _ := list(t, profile)
		if len(tools) != want {
			t.Errorf("%s: %d tools, want %d", profile, len(tools), want)
		}
		for _, tool := range tools {
			if tool.Title == "" || profile != api.ToolsMemory && !strings.HasSuffix(tool.Description, ".") {
				t.Errorf("%s: title %q, text %q", tool.Name, tool.Title, tool.Description)
			}
			for _, hint := range []string{"destructiveHint", "openWorldHint"} {
				if tool.Annotations[hint] == nil {
					t.Errorf("%s: no %s", tool.Name, hint)
				}
			}
			lint(t, tool.Name+" takes", tool.InputSchema, defs(tool.InputSchema))
			for name, of := range defs(tool.InputSchema) {
				lint(t, tool.Name+" takes "+name, of.(map[string]any), defs(tool.InputSchema))
				bounded(t, tool.Name+" takes "+name, of.(map[string]any))
			}
			bounded(t, tool.Name, tool.InputSchema)
			if (tool.OutputSchema != nil) != (profile == api.ToolsMemory) {
				t.Errorf("%s: schema of the answer: %v", tool.Name, tool.OutputSchema)
			}
		}
	}
}

func defs(s map[string]any) map[string]any {
	d, _ := s["$defs"].(map[string]any)
	return d
}

// lint checks that every field has a description and that all references resolve.
func lint(t *testing.T, where string, s, known map[string]any) {
	t.Helper()
	if s["type"] != "object" {
		t.Errorf("%s: type %v", where, s["type"])
	}
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		p := p.(map[string]any)
		if text, _ := p["description"].(string); text == "" {
			t.Errorf("%s: %s has no description", where, name)
		}
		if items, ok := p["items"].(map[string]any); ok {
			p = items
		}
		if ref, ok := p["$ref"].(string); ok && known[strings.TrimPrefix(ref, "#/$defs/")] == nil {
			t.Errorf("%s: %s is %s, which is nowhere", where, name, ref)
		}
	}
}

// bounded checks that every number that a tool accepts has a minimum.
func bounded(t *testing.T, where string, s map[string]any) {
	t.Helper()
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		p := p.(map[string]any)
		if (p["type"] == "number" || p["type"] == "integer") && p["minimum"] == nil && p["exclusiveMinimum"] == nil {
			t.Errorf("%s: %s is a number from where on?", where, name)
		}
	}
}

// counting is a door that only counts messages.
type counting struct{ api.Door }

func (counting) May(api.Caller, *api.Op) error { return nil }

func (counting) Do(_ context.Context, _ api.Caller, op *api.Op, _ any) (any, error) {
	if op != api.Message.Op {
		return nil, errors.New("a list asks for nothing")
	}
	return &api.Nothing{}, nil
}
