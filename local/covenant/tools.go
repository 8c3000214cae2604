package covenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/redact"
)

// content is a block of a tool's or task's result.
type content struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func textBlock(s string) content { return content{Type: "text", Text: &s} }

func jsonBlock(v any) (content, error) {
	b, err := encode(v)
	return content{Type: "json", Value: b}, err
}

type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
}

// A tool runs in this process. What it answers may be an error of its own; err is for arguments it cannot take.
type tool struct {
	toolSpec
	run func(ctx context.Context, s *session, f *fields) (c content, isError bool, err error)
}

const readSchema = `"tier":{"type":"string"},"limit":{"type":"integer"}`

// tools by name.
var tools = []tool{
	{toolSpec{"clock", "Returns the current Unix time in milliseconds.",
		json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}, clock},
	{toolSpec{"echo", "Returns the provided `text` argument verbatim.",
		json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`)}, echo},
	{toolSpec{"memory.recent", "Returns the caller's newest memory records.",
		json.RawMessage(`{"type":"object","properties":{` + readSchema + `},"additionalProperties":false}`)}, memoryTool(recentMemory)},
	{toolSpec{"memory.search", "Returns the caller's memory records that match `query`, best first.",
		json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"min_relevance":{"type":"number"},` + readSchema + `},"required":["query"],"additionalProperties":false}`)}, memoryTool(searchMemory)},
}

func clock(context.Context, *session, *fields) (content, bool, error) {
	c, err := jsonBlock(struct {
		Now uint64 `json:"epoch_ms"`
	}{now()})
	return c, false, err
}

func echo(_ context.Context, _ *session, f *fields) (content, bool, error) {
	return textBlock(f.text("text")), false, f.err
}

// memoryTool is a verb as a tool: the same work, behind the same gate.
func memoryTool(v verb) func(context.Context, *session, *fields) (content, bool, error) {
	return func(ctx context.Context, s *session, f *fields) (content, bool, error) {
		delete(f.m, "prefer_stream")
		run := v(f)
		if f.err != nil {
			return content{}, false, f.err
		}
		switch r := run(ctx, s).(type) {
		case memoriesFrame:
			c, err := jsonBlock(r.Records)
			return c, false, err
		case errorFrame:
			return textBlock(r.Message), true, nil
		default:
			return content{}, false, errors.New("no records")
		}
	}
}

type toolsFrame struct {
	Kind  string     `json:"kind"`
	Tools []toolSpec `json:"tools"`
}

func listTools(*fields) action {
	return func(context.Context, *session) any {
		out := toolsFrame{Kind: "tool_list"}
		for _, t := range tools {
			out.Tools = append(out.Tools, t.toolSpec)
		}
		slices.SortFunc(out.Tools, func(a, b toolSpec) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
}

type toolFrame struct {
	Kind    string    `json:"kind"`
	Content []content `json:"content"`
	IsError bool      `json:"is_error"`
}

func callTool(f *fields) action {
	name, arguments := redact.String(f.text("name")), f.m["arguments"] // the name goes into the audit log, known or not
	if arguments == nil {
		arguments = null
	}
	return func(ctx context.Context, s *session) any {
		refusal := s.gate(ctx, gate{label: "tool:" + name, actions: []string{"tool.call." + name},
			missing: fmt.Sprintf(`tool %s requires capability ["tool.call.%s"].`, name, name),
			allows:  func(_ string, sc scope) bool { return sc.tool(name, arguments) },
			reject:  fmt.Sprintf("tool %s rejected by capability scope: tool or arguments do not match capability scope", name)})
		if refusal != nil {
			return refusal
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if i < 0 {
			return fault("tool: tool not found: " + name)
		}
		in, err := checkArguments(tools[i].Schema, arguments)
		if err != nil {
			return fault("tool: invalid arguments: " + err.Error())
		}
		c, isError, err := tools[i].run(ctx, s, in)
		if err != nil {
			return fault("tool: tool failed: " + err.Error())
		}
		return toolFrame{"tool_result", []content{c}, isError}
	}
}

// checkArguments holds arguments against a schema, as far as required fields and primitive types go.
func checkArguments(schema, arguments json.RawMessage) (*fields, error) {
	var sc struct {
		Properties map[string]struct{ Type string }
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &sc); err != nil {
		return nil, err
	}
	if string(arguments) == string(null) {
		arguments = json.RawMessage("{}")
	}
	f := parse(arguments)
	if f.err != nil {
		return nil, errors.New("arguments must be an object")
	}
	for _, r := range sc.Required {
		if _, ok := f.m[r]; !ok {
			return nil, fmt.Errorf("missing required field %q", r)
		}
	}
	for name, raw := range f.m {
		p, known := sc.Properties[name]
		if !known && sc.Additional != nil && !*sc.Additional {
			return nil, fmt.Errorf("unknown field %q", name)
		}
		if known && !isType(raw, p.Type) {
			return nil, fmt.Errorf("field %q must be a %s", name, p.Type)
		}
	}
	return f, nil
}

func isType(raw json.RawMessage, want string) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	case bool:
		return want == "boolean"
	}
	return false
}
