package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// A tool is a function that a model can call, with its description and schema. The function gets the undecoded
// arguments.
type tool struct {
	api.Tool
	takes field.Object // the arguments that the schema shows
	gives field.Object // nil: the answer has no schema
	call  func(ctx context.Context, c api.Caller, args map[string]json.RawMessage) (answer, error)
}

// An answer is a text and, if structured is not nil, its JSON.
type answer struct {
	text       string
	structured json.RawMessage
}

// addTool adds a tool. An error is an answer too, so that the model can read it and react.
func (s *Server) addTool(srv *mcp.Server, t tool) {
	shown := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Text, InputSchema: markRouting(t.takes.Standalone(false)),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: new(t.Destructive),
			IdempotentHint: t.Idempotent, OpenWorldHint: new(bool)}}
	if t.gives != nil {
		shown.OutputSchema = t.gives.Standalone(true)
	}
	srv.AddTool(shown, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args := map[string]json.RawMessage{}
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return toolError("arguments: want a JSON object"), nil
			}
		}
		a, err := t.call(ctx, callerOf(ctx), args)
		if err != nil {
			return toolError(s.publicError(err).Error()), nil
		}
		result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}}
		if a.structured != nil {
			result.StructuredContent = a.structured
		}
		return result, nil
	})
}

// toolError returns an error that the model can read and react to.
func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// publicError returns the error that a client may see, without its cause. An internal error is logged instead.
func (s *Server) publicError(err error) error {
	e, known := api.Classify(err)
	if !known {
		s.cfg.Log.Error("request failed", "surface", "mcp", "err", err)
		return errors.New("internal error")
	}
	return errors.New(e.Text)
}

// decode decodes arguments into a request. It rejects unknown ones.
func (s *Server) decode(ctx context.Context, takes field.Object, request any, args map[string]json.RawMessage) error {
	if err := takes.Decode(request, args, s.cfg.Lenient); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", err)
	}
	if decoded, ok := ctx.Value(decodedKey{}).(func()); ok {
		decoded()
	}
	return nil
}

// format selects the form of an answer. Every tool of an operation accepts it; only the profile full shows it.
type format struct {
	Format string `json:"format" is:"string{text,json}" default:"text" doc:"text, or json for the whole answer with all its fields."`
}

var formats = field.Of(reflect.TypeFor[format]())

// addOperation adds an operation as a tool.
func (s *Server) addOperation(srv *mcp.Server, op *api.Op, full bool) {
	takes := op.Takes().ForTools()
	shown := slices.Concat(takes, formats)
	if !full {
		shown = takes.Core()
	}
	s.addTool(srv, tool{Tool: *op.Tool, takes: shown,
		call: func(ctx context.Context, c api.Caller, args map[string]json.RawMessage) (a answer, err error) {
			if err := s.cfg.Door.May(c, op); err != nil { // before the arguments are read, as on every surface
				return a, err
			}
			var as format
			if err := formats.Decode(&as, takeArgument(args, "format"), false); err != nil {
				return a, oplog.Errorf(oplog.Invalid, "%s", err)
			}
			if err := s.expandIDs(ctx, c, takes, args); err != nil {
				return a, err
			}
			request := op.New()
			if err := s.decode(ctx, takes, request, args); err != nil {
				return a, err
			}
			got, err := s.cfg.Door.Do(ctx, c, op, request)
			if err != nil {
				return a, err
			}
			b, err := json.Marshal(got)
			if err != nil {
				return a, err
			}
			if as.Format == "json" {
				return answer{string(b), b}, nil
			}
			a.text, err = s.textOf(ctx, c, op, got, b)
			return a, err
		}})
}

// takeArgument removes an argument and returns it.
func takeArgument(args map[string]json.RawMessage, name string) map[string]json.RawMessage {
	one := map[string]json.RawMessage{}
	if v, there := args[name]; there {
		one[name] = v
		delete(args, name)
	}
	return one
}

// expandIDs replaces short ids with full ones: numbers, such as #812, and unique prefixes. Any other text stays, and
// the operation rejects it.
func (s *Server) expandIDs(ctx context.Context, c api.Caller, takes field.Object, args map[string]json.RawMessage) error {
	var names []string
	var at []*string
	lists := map[string][]string{}
	q := &api.IDsRequest{}
	for _, f := range takes {
		for _, name := range append([]string{f.Name}, f.Others...) {
			ids, one := []string{}, ""
			if json.Unmarshal(args[name], &one) == nil && one != "" {
				ids = []string{one}
			} else if json.Unmarshal(args[name], &ids) != nil {
				continue
			}
			for i, id := range ids {
				if api.MayBeShort(f, id) {
					names, q.Short, at, lists[name] = append(names, name), append(q.Short, id), append(at, &ids[i]), ids
				}
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if len(names) > maxShortIDs {
		return oplog.Errorf(oplog.TooLarge, "%s: more than %d short ids", names[maxShortIDs], maxShortIDs)
	}
	a, err := api.IDs.Do(ctx, s.cfg.Door, c, q)
	if err != nil {
		return err
	}
	for i, name := range names {
		id, err := a.Whole(i, name, q.Short[i])
		if err != nil {
			return err
		}
		*at[i] = id
	}
	for name, ids := range lists {
		var v any = ids
		if args[name][0] == '"' {
			v = ids[0]
		}
		if args[name], err = json.Marshal(v); err != nil {
			return err
		}
	}
	return nil
}

// maxShortIDs bounds the short ids of one call, which are looked up one by one.
const maxShortIDs = 10_000
