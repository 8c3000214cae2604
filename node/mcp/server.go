package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Config says which door a server asks. All of it but Lenient is required.
type Config struct {
	Door    api.Door
	Version string // of the node
	Lenient bool   // arguments of another type count as absent
}

// A Server answers exchanges. Its methods may be called from any goroutine.
type Server struct {
	cfg  Config
	http http.Handler
}

// New makes a server. One serves all exchanges, because making one takes milliseconds.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg}
	srv := s.server()
	s.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return s
}

// Serve answers one exchange of a caller whose message was read. It calls decoded, if that is not nil, when it has
// decoded the message, so that its caller can hold a turn for that long and no longer.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, c api.Caller, message []byte, decoded func()) {
	if overMaxBatch(message) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(append(refusedBatch, '\n')) // a client that went away is no failure of ours
		return
	}
	ctx := context.WithValue(r.Context(), callerKey{}, c)
	if decoded != nil {
		ctx = context.WithValue(ctx, decodedKey{}, decoded)
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(message))
	s.http.ServeHTTP(w, r)
}

type (
	callerKey  struct{} // an api.Caller
	decodedKey struct{} // a func()
)

// caller is the caller of the exchange. A context without one gives a caller without rights.
func caller(ctx context.Context) api.Caller {
	c, _ := ctx.Value(callerKey{}).(api.Caller)
	return c
}

func (s *Server) server() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: s.cfg.Version}, &mcp.ServerOptions{
		Instructions: "A memory that outlives conversations. Recall before you answer; remember what will matter later. " + api.QuotedData,
		CompletionHandler: func(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return s.complete(ctx, caller(ctx), r.Params)
		}})
	srv.AddReceivingMiddleware(s.count)
	for _, op := range api.Ops {
		if op.Tool != nil {
			s.addTool(srv, op)
		}
	}
	srv.AddPrompt(&mcp.Prompt{Name: "known", Title: "What is known", Description: "What the memory knows about something, to begin a conversation with.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Description: "a person, a project, a question", Required: true}}}, s.promptKnown)
	srv.AddResource(&mcp.Resource{URI: "cairn://memories/recent", Name: "recent", Title: "Recent memories", Description: "The twenty newest memories.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			newest, err := api.Around.Do(ctx, s.cfg.Door, caller(ctx), &api.AroundRequest{Limit: 20})
			if err != nil {
				return nil, err
			}
			return resource(req.Params.URI, newest.Memories)
		})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: memoryURI + "{rid}", Name: "memory", Title: "A memory", Description: "One memory by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			m, err := api.Get.Do(ctx, s.cfg.Door, caller(ctx), &api.GetRequest{RID: strings.TrimPrefix(req.Params.URI, memoryURI)})
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
func (s *Server) addTool(srv *mcp.Server, op *api.Op) {
	takes, keep := op.Takes().ForTools(), !op.Tool.Destructive
	srv.AddTool(&mcp.Tool{Name: op.Tool.Name, Title: op.Tool.Title, Description: op.Tool.Text, InputSchema: takes.Standalone(false), OutputSchema: op.Gives().Standalone(true),
		Annotations: &mcp.ToolAnnotations{Title: op.Tool.Title, ReadOnlyHint: op.Tool.ReadOnly, DestructiveHint: new(!keep), IdempotentHint: op.Tool.Idempotent, OpenWorldHint: new(bool)}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			args := map[string]json.RawMessage{}
			if len(req.Params.Arguments) > 0 {
				if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
					return toolError(oplog.Errorf(oplog.Invalid, "arguments: want a JSON object")), nil
				}
			}
			request := op.New()
			if err := takes.Decode(request, args, s.cfg.Lenient); err != nil {
				return toolError(oplog.Errorf(oplog.Invalid, "%s", err)), nil
			}
			if decoded, ok := ctx.Value(decodedKey{}).(func()); ok {
				decoded()
			}
			answer, err := s.cfg.Door.Do(ctx, caller(ctx), op, request)
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

// count has the door count each message of an exchange that is no operation: a batch is as many as it holds.
func (s *Server) count(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/call" {
			if _, err := api.Message.Do(ctx, s.cfg.Door, caller(ctx), &api.Nothing{}); err != nil {
				return nil, &jsonrpc.Error{Code: codeRateLimited, Message: err.Error()}
			}
		}
		if err := s.await(ctx, req.GetParams()); err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
}

// metaPrefix begins the keys of a message's _meta by which a client, not its model, says how new an answer must be:
// cairn/min_index and cairn/consistency. They count for tools, prompts and resources alike.
const metaPrefix = "cairn/"

// behindWait bounds how long a message waits for an index.
const behindWait = 2 * time.Second

// await waits until this node is as new as a message asks.
func (s *Server) await(ctx context.Context, p mcp.Params) error {
	if p == nil || reflect.ValueOf(p).IsNil() { // a message without parameters
		return nil
	}
	given := map[string]json.RawMessage{}
	for key, v := range p.GetMeta() {
		if name, ok := strings.CutPrefix(key, metaPrefix); ok {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			given[name] = b
		}
	}
	want, err := api.FreshOf(given)
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "_meta: " + err.Error()}
	}
	if want == (api.Fresh{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, behindWait)
	defer cancel()
	if _, err := api.Await.Do(ctx, s.cfg.Door, caller(ctx), &api.AwaitRequest{Fresh: want}); err != nil {
		return &jsonrpc.Error{Code: codeBehind, Message: err.Error()}
	}
	return nil
}

// codeBehind is the JSON-RPC error of a node that did not become as new as the client asked.
const codeBehind = -32001

// codeRateLimited is the JSON-RPC error of a caller that asks too often: the first of those left to servers.
const codeRateLimited = -32000

// promptKnown is a message that holds what is recalled about a topic.
func (s *Server) promptKnown(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	topic := r.Params.Arguments["topic"]
	if strings.TrimSpace(topic) == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "missing 'topic'"}
	}
	a, err := api.Recall.Do(ctx, s.cfg.Door, caller(ctx), &api.RecallRequest{Question: api.Question{Text: topic, K: promptRows, Expand: true}})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What the memory knows about %s. %s\n", api.OneLine(topic), api.QuotedData)
	for _, r := range a.Results {
		fmt.Fprintf(&b, "- %s, %s, by %s\n", r.RID, time.UnixMicro(int64(r.Created*1e6)).UTC().Format(time.DateOnly), api.Quote(r.Source, r.Namespace, r.Text))
	}
	if len(a.Results) == 0 {
		b.WriteString("nothing\n")
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: b.String()}}}}, nil
}

// promptRows bounds how many memories a prompt holds.
const promptRows = 10

const (
	memoryURI   = "cairn://memory/"
	maxComplete = 20
	maxLook     = 200 // memories whose ids are compared
)

// complete offers the newest memories' ids for what a client has of one. There is nothing else to complete.
func (s *Server) complete(ctx context.Context, c api.Caller, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	found := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if p.Ref == nil || !strings.HasPrefix(p.Ref.URI, memoryURI) || p.Argument.Name != "rid" {
		return found, nil
	}
	newest, err := api.Around.Do(ctx, s.cfg.Door, c, &api.AroundRequest{Limit: maxLook})
	if err != nil {
		return nil, err
	}
	for _, m := range newest.Memories {
		if strings.HasPrefix(m.RID, p.Argument.Value) && len(found.Completion.Values) < maxComplete {
			found.Completion.Values = append(found.Completion.Values, m.RID)
		}
	}
	return found, nil
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
