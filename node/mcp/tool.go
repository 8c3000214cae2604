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

// A tool may be called by a model. It has a description, a schema of its arguments, and a function. The function gets
// the arguments as they came.
type tool struct {
	api.Tool
	takes field.Object // as it is shown
	gives field.Object // nil: no schema says what the answer is
	call  func(ctx context.Context, c api.Caller, args map[string]json.RawMessage) (answer, error)
}

// An answer is a text and, if structured is not nil, its JSON.
type answer struct {
	text       string
	structured json.RawMessage
}

// add offers a tool. What fails is an answer too, which the model can read and act upon.
func (s *Server) add(srv *mcp.Server, t tool) {
	shown := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Text, InputSchema: mirrored(t.takes.Standalone(false)),
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
		a, err := t.call(ctx, caller(ctx), args)
		if err != nil {
			return toolError(s.public(err).Error()), nil
		}
		result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}}
		if a.structured != nil {
			result.StructuredContent = a.structured
		}
		return result, nil
	})
}

// toolError is a failure the model can read and act upon.
func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// public returns an error as clients may read it, without its cause. An error of the node's own goes to the log.
func (s *Server) public(err error) error {
	e, known := api.Classify(err)
	if !known {
		s.cfg.Log.Error("request failed", "surface", "mcp", "err", err)
		return errors.New("internal error")
	}
	return errors.New(e.Text)
}

// decode puts arguments into a request, rejecting those that it does not take.
func (s *Server) decode(ctx context.Context, takes field.Object, request any, args map[string]json.RawMessage) error {
	if err := takes.Decode(request, args, s.cfg.Lenient); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", err)
	}
	if decoded, ok := ctx.Value(decodedKey{}).(func()); ok {
		decoded()
	}
	return nil
}

// format says how an answer comes. Every tool of an operation takes it, and only the profile full shows it.
type format struct {
	Format string `json:"format" is:"string{text,json}" default:"text" doc:"text, or json for the whole answer with all its fields."`
}

var formats = field.Of(reflect.TypeFor[format]())

// addTool offers an operation to models.
func (s *Server) addTool(srv *mcp.Server, op *api.Op, full bool) {
	takes := op.Takes().ForTools()
	shown := slices.Concat(takes, formats)
	if !full {
		shown = takes.Core()
	}
	s.add(srv, tool{Tool: *op.Tool, takes: shown,
		call: func(ctx context.Context, c api.Caller, args map[string]json.RawMessage) (a answer, err error) {
			if err := s.cfg.Door.May(c, op); err != nil { // before its arguments are read, as on every surface
				return a, err
			}
			var as format
			if err := formats.Decode(&as, pick(args, "format"), false); err != nil {
				return a, oplog.Errorf(oplog.Invalid, "%s", err)
			}
			if err := s.expand(ctx, c, takes, args); err != nil {
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

// pick takes an argument out.
func pick(args map[string]json.RawMessage, name string) map[string]json.RawMessage {
	one := map[string]json.RawMessage{}
	if v, there := args[name]; there {
		one[name] = v
		delete(args, name)
	}
	return one
}

// expand puts whole ids in the place of short ones: a number, such as #812, or the beginning of an id. An id that is
// neither stays as it is, for the operation to say that it is not a memory's.
func (s *Server) expand(ctx context.Context, c api.Caller, takes field.Object, args map[string]json.RawMessage) error {
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
		var v any = lists[name]
		if args[name][0] == '"' {
			v = id
		}
		if args[name], err = json.Marshal(v); err != nil {
			return err
		}
	}
	return nil
}
