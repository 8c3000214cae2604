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
)

// TestTools lints what models are told: every tool has a title, a text, annotations and both schemas, and every field
// of them a description.
func TestTools(t *testing.T) {
	t.Parallel()
	var said struct {
		Result struct {
			Tools []struct {
				Name, Title, Description  string
				InputSchema, OutputSchema map[string]any
				Annotations               map[string]any
			}
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(list))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	New(Config{Door: counting{}, Version: "test"}).Serve(w, r, api.Caller{}, []byte(list), nil)
	if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	tools := 0
	for _, op := range api.Ops {
		if op.Tool != nil {
			tools++
		}
	}
	if len(said.Result.Tools) != tools {
		t.Errorf("%d tools of %d", len(said.Result.Tools), tools)
	}
	for _, tool := range said.Result.Tools {
		if tool.Title == "" || !strings.HasSuffix(tool.Description, ".") {
			t.Errorf("%s: title %q, text %q", tool.Name, tool.Title, tool.Description)
		}
		for _, hint := range []string{"title", "destructiveHint", "openWorldHint"} {
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
		lint(t, tool.Name+" gives", tool.OutputSchema, defs(tool.OutputSchema))
		for name, of := range defs(tool.OutputSchema) {
			lint(t, tool.Name+" gives "+name, of.(map[string]any), defs(tool.OutputSchema))
		}
	}
}

func defs(s map[string]any) map[string]any {
	d, _ := s["$defs"].(map[string]any)
	return d
}

// lint asks a description of every field, and that what is referred to is there.
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

// bounded asks of every number that a tool takes from where on it is taken.
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

// counting is a door that lets messages pass, and nothing else.
type counting struct{ api.Door }

func (counting) Do(_ context.Context, _ api.Caller, op *api.Op, _ any) (any, error) {
	if op != api.Message.Op {
		return nil, errors.New("a list asks for nothing")
	}
	return &api.Nothing{}, nil
}
