package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// mcp serves the tools over Streamable HTTP. Every exchange stands by itself: any node answers any of them.
func (g *gateway) mcp() http.Handler {
	srv := newMCPServer(g.s) // one for all: to make it takes milliseconds
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		q := &request{w: w, r: r}
		err := g.identify(q, Read)
		if err == nil {
			err = g.s.limits.ready(q.c, start) // each message is counted by itself
		}
		if err != nil {
			leaveUnread(w, r)
			if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			g.fail(w, r, err)
			return
		}
		message, release, err := g.bodyOf(w, r, maxSmall)
		if err != nil {
			leaveUnread(w, r)
			release()
			g.fail(w, r, err)
			return
		}
		defer release()
		r.Body = io.NopCloser(bytes.NewReader(message))
		if crowdedBatch(message) {
			writeJSON(w, http.StatusBadRequest, refusedBatch)
			return
		}
		if n := g.busy.Add(1); n > maxBusy {
			g.busy.Add(-1)
			g.fail(w, r, crowded(n))
			return
		}
		defer g.busy.Add(-1)
		defer func() { g.metrics.handled("mcp", time.Since(start)) }()
		q.c.Forward, q.c.Surface = true, "mcp" // a model has no idea of a cluster
		ctx := context.WithValue(r.Context(), callerKey{}, q.c)
		if len(message) >= large.From {
			done, err := g.s.heavy.Take(ctx)
			if err != nil {
				return // the client left
			}
			done = sync.OnceFunc(done)
			defer done()
			ctx = context.WithValue(ctx, turnKey{}, done)
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, bearerKey{}, r.Header.Get("Authorization"))))
	})
}

// maxBatch is how many messages a batch may hold: one of a byte or two becomes a hundred times that.
const maxBatch = 1000

var refusedBatch = json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a batch holds at most 1000 messages"}}`)

// crowdedBatch says whether a text is an array of more values. It looks at no more than it has to.
func crowdedBatch(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case c == ']', c == '}':
			depth--
		case c == ',' && depth == 1:
			if values++; values > maxBatch {
				return true
			}
		}
	}
	return false
}

type (
	callerKey struct{} // a Caller
	turnKey   struct{} // the func() that ends a large message's turn at being decoded
	bearerKey struct{} // what the request brought as Authorization
)

// caller is who asks. What has none may do nothing.
func caller(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

func newMCPServer(s *Service) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: s.cfg.Version}, &mcp.ServerOptions{
		Instructions: "A memory that outlives conversations. Recall before you answer; remember what will matter later.",
		CompletionHandler: func(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return s.complete(ctx, caller(ctx), r.Params)
		}})
	srv.AddReceivingMiddleware(s.countMessages)
	for _, op := range api.Ops {
		if op.Tool != nil {
			addTool(srv, s, op)
		}
	}
	srv.AddPrompt(&mcp.Prompt{Name: "known", Title: "What is known", Description: "What the memory knows about something, to begin a conversation with.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Description: "a person, a project, a question", Required: true}}}, s.promptKnown)
	srv.AddResource(&mcp.Resource{URI: "cairn://memories/recent", Name: "recent", Title: "Recent memories", Description: "The twenty newest memories.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			list, err := s.List(ctx, caller(ctx), Listing{Limit: 20})
			if err != nil {
				return nil, err
			}
			return resource(req.Params.URI, rowsOf(list))
		})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: memoryURI + "{rid}", Name: "memory", Title: "A memory", Description: "One memory by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			m, err := api.Get.Do(ctx, s, caller(ctx), &api.GetRequest{RID: strings.TrimPrefix(req.Params.URI, memoryURI)})
			if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			if err != nil {
				return nil, err
			}
			return resource(req.Params.URI, m)
		})
	return srv
}

// addTool offers an operation to models.
func addTool(srv *mcp.Server, s *Service, op *api.Op) {
	takes, keep := op.Takes().ForTools(), !op.Tool.Destructive
	srv.AddTool(&mcp.Tool{Name: op.Tool.Name, Title: op.Tool.Title, Description: op.Tool.Text, InputSchema: takes.Standalone(false), OutputSchema: op.Gives().Standalone(true),
		Annotations: &mcp.ToolAnnotations{Title: op.Tool.Title, ReadOnlyHint: op.Tool.ReadOnly, DestructiveHint: new(!keep), IdempotentHint: op.Tool.Idempotent, OpenWorldHint: new(bool)}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			args := fields{}
			if len(req.Params.Arguments) > 0 {
				if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
					return toolError(oplog.Errorf(oplog.Invalid, "arguments are no object")), nil
				}
			}
			request := op.New()
			if err := takes.Decode(request, args, s.cfg.Lenient); err != nil {
				return toolError(oplog.Errorf(oplog.Invalid, "%s", err)), nil
			}
			if decoded, ok := ctx.Value(turnKey{}).(func()); ok {
				decoded()
			}
			answer, err := s.Do(ctx, caller(ctx), op, request)
			if err != nil {
				return toolError(err), nil
			}
			b, err := json.Marshal(answer)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}, StructuredContent: json.RawMessage(b)}, nil
		})
}

// countMessages counts each message of an exchange as an operation of its caller: a batch is as many as it holds.
func (s *Service) countMessages(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c, err := s.limits.count(caller(ctx), 1, time.Now())
		switch {
		case err == nil:
			return next(context.WithValue(ctx, callerKey{}, c), method, req)
		case method == "tools/call":
			return toolError(err), nil
		}
		return nil, &jsonrpc.Error{Code: codeRateLimited, Message: err.Error()}
	}
}

// codeRateLimited is the JSON-RPC error of a caller that asks too often: the first of those left to servers.
const codeRateLimited = -32000

// promptKnown is a message that holds what is recalled about a topic.
func (s *Service) promptKnown(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	topic := r.Params.Arguments["topic"]
	if strings.TrimSpace(topic) == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "missing 'topic'"}
	}
	a, err := api.Recall.Do(ctx, s, caller(ctx), &api.RecallRequest{Question: api.Question{Text: topic, K: promptRows, Expand: true}})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What the memory knows about %s:\n", topic)
	for _, r := range a.Results {
		fmt.Fprintf(&b, "- %s (%s, %s)\n", r.Text, seconds(r.Created).UTC().Format(time.DateOnly), r.RID)
	}
	if len(a.Results) == 0 {
		b.WriteString("nothing\n")
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: b.String()}}}}, nil
}

// promptRows is how many memories a prompt holds.
const promptRows = 10

const (
	memoryURI   = "cairn://memory/"
	maxComplete = 20
)

// complete offers the newest memories' ids for what a client has of one. There is nothing else to complete.
func (s *Service) complete(ctx context.Context, c Caller, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	found := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if p.Ref == nil || !strings.HasPrefix(p.Ref.URI, memoryURI) || p.Argument.Name != "rid" {
		return found, nil
	}
	list, err := s.List(ctx, c, Listing{Limit: maxPage})
	for _, m := range list {
		if strings.HasPrefix(m.RID, p.Argument.Value) && len(found.Completion.Values) < maxComplete {
			found.Completion.Values = append(found.Completion.Values, m.RID)
		}
	}
	return found, err
}

// toolError is a failure the model can read and act upon.
func toolError(err error) *mcp.CallToolResult {
	text := "internal error"
	var e *oplog.Error
	if errors.As(err, &e) {
		text = e.Text
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func resource(uri string, v any) (*mcp.ReadResourceResult, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(b)}}}, nil
}
