package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/wire/redact"
)

// content is a block of the result of a tool or task.
type content struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func textBlock(s string) content { return content{Type: "text", Text: &s} }

// A tool is a verb that call_tool runs, including the verb's own capability check. Its answer is a text, records, or
// another value. An error is an answer with is_error.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
	run         Verb
}

const readSchema = `"tier":{"type":"string"},"limit":{"type":"integer"}`

// tools lists the tools by name.
var tools = []tool{
	{"clock", "Returns the current Unix time in milliseconds.",
		json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), clock},
	{"echo", "Returns the provided `text` argument verbatim.",
		json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`), echo},
	{"memory.recent", "Returns the caller's newest memory records.",
		json.RawMessage(`{"type":"object","properties":{` + readSchema + `},"additionalProperties":false}`), recentMemory},
	{"memory.search", "Returns the caller's memory records that match `query`, best first.",
		json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"min_relevance":{"type":"number"},` + readSchema + `},"required":["query"],"additionalProperties":false}`),
		searchMemory},
}

func clock(*serve.Fields) Action {
	return func(context.Context, *Session) (any, error) { return kit.Object{"epoch_ms", home.Now()}, nil }
}

func echo(f *serve.Fields) Action {
	text := f.Text("text")
	return func(context.Context, *Session) (any, error) { return text, nil }
}

func callTool(f *serve.Fields) Action {
	name, arguments := redact.String(f.Text("name")), f.Members["arguments"] // the name is in audit rows, even of an unknown tool
	if arguments == nil {
		arguments = json.RawMessage("null")
	}
	return requireGate(gate{label: "tool:" + name, actions: []string{"tool.call." + name},
		missing: fmt.Sprintf(`tool %s requires capability ["tool.call.%s"].`, name, name),
		allows:  func(sc scope) bool { return sc.allowsCall(name, arguments) },
		reject:  fmt.Sprintf("tool %s rejected by capability scope: tool or arguments do not match capability scope", name),
	}, func(ctx context.Context, s *Session) (any, error) {
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if i < 0 {
			return nil, errors.New("tool: tool not found: " + name)
		}
		in, err := checkArguments(tools[i].Schema, arguments)
		if err != nil {
			return nil, fmt.Errorf("tool: invalid arguments: %w", err)
		}
		run := tools[i].run(in)
		if in.Err != nil {
			return nil, fmt.Errorf("tool: tool failed: %w", in.Err)
		}
		answer, failed := run(ctx, s)
		if failed != nil {
			answer = failed.Error()
		}
		c, err := toContent(answer)
		return kit.Object{"kind", "tool_result", "content", []content{c}, "is_error", failed != nil}, err
	})
}

// toContent converts a tool's answer to a block of its result.
func toContent(answer any) (content, error) {
	switch v := answer.(type) {
	case string:
		return textBlock(v), nil
	case protocol.List:
		answer = v.Items
	}
	b, err := kit.JSON(answer)
	return content{Type: "json", Value: b}, err
}

// checkArguments checks arguments against a schema: required fields, types, and no unknown fields.
func checkArguments(schema, arguments json.RawMessage) (*serve.Fields, error) {
	var sc struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(schema, &sc); err != nil {
		return nil, err
	}
	if string(arguments) == string(json.RawMessage("null")) {
		arguments = json.RawMessage("{}")
	}
	f := serve.Parse(arguments)
	if f.Err != nil {
		return nil, errors.New("arguments must be an object")
	}
	for _, r := range sc.Required {
		if _, ok := f.Members[r]; !ok {
			return nil, fmt.Errorf("missing required field %q", r)
		}
	}
	for name, raw := range f.Members {
		p, known := sc.Properties[name]
		if !known {
			return nil, fmt.Errorf("unknown field %q", name)
		}
		if !isType(raw, p.Type) {
			return nil, fmt.Errorf("field %q must be a %s", name, p.Type)
		}
	}
	return f, nil
}

func isType(raw json.RawMessage, want string) bool {
	var v any
	_ = json.Unmarshal(raw, &v) // it is valid JSON
	switch v := v.(type) {
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	}
	return false
}
