package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Config says which door a server asks. Door and Version are required.
type Config struct {
	Door    api.Door
	Version string       // of the node
	Lenient bool         // arguments of another type count as absent
	Log     *slog.Logger // discards
}

// A Server answers exchanges. Its methods may be called from any goroutine.
type Server struct {
	cfg  Config
	http http.Handler
}

// New makes a server for each profile. They serve all exchanges, because making one takes milliseconds.
func New(cfg Config) *Server {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Server{cfg: cfg}
	profiles := map[string]*mcp.Server{}
	for _, name := range api.ToolProfiles {
		profiles[name] = s.server(name)
	}
	s.http = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return profiles[profileOf(r)] },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return s
}

// profileOf is the profile that a URL names.
func profileOf(r *http.Request) string { return cmp.Or(r.URL.Query().Get("tools"), api.ToolsCore) }

// Serve answers one exchange of a caller whose message was read. It calls decoded, if that is not nil, when it has
// decoded the message, so that its caller can hold a turn for that long and no longer.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, c api.Caller, message []byte, decoded func()) {
	switch profile := profileOf(r); {
	case !slices.Contains(api.ToolProfiles, profile):
		refuse(w, nil, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("tools: want one of %s, got %.40q", strings.Join(api.ToolProfiles, ", "), profile))
		return
	case overMaxBatch(message):
		refuse(w, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Invalid Request: a batch holds at most %d messages", maxBatch))
		return
	}
	if err := field.UTF8(message); err != nil {
		refuse(w, nil, jsonrpc.CodeParseError, "Parse error: "+err.Error())
		return
	}
	if len(message) > 0 && !json.Valid(message) { // the library would answer in plain text
		refuse(w, nil, jsonrpc.CodeParseError, "Parse error: malformed JSON")
		return
	}
	if id, wrong := mismatched(r.Header, message); wrong != "" {
		refuse(w, id, mcp.CodeHeaderMismatch, wrong)
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

// refuse answers a request whose message is not passed on; id is the message's, where it was read.
func refuse(w http.ResponseWriter, id json.RawMessage, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, // a client that went away is no failure of ours
		"error": map[string]any{"code": code, "message": text}})
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

// instructions tell a model how to use the tools of the profiles core and full.
const instructions = "A memory that outlives conversations. Recall before you answer; remember what will matter later. " +
	"A rid is a memory's number, such as #812, or its whole id. Answers are text; with format json they are JSON. " + api.QuotedData

// listTTL bounds how long a client keeps lists: they change with the node's version alone.
const listTTL = time.Hour

// server makes the server of a profile. What it can do never changes while it runs, so it tells of no changes. What it
// says is for the caller whose token came with the request, and no cache may give it to others.
func (s *Server) server(profile string) *mcp.Server {
	opts := &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private"
			if _, reads := req.(*mcp.ReadResourceRequest); !reads {
				c.TTLMs = int(listTTL.Milliseconds())
			}
		}}
	if profile != api.ToolsMemory {
		opts.Instructions, opts.Capabilities.Prompts = instructions, &mcp.PromptCapabilities{}
		opts.CompletionHandler = func(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return s.complete(ctx, caller(ctx), r.Params)
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: s.cfg.Version}, opts)
	srv.AddReceivingMiddleware(s.count)
	if profile == api.ToolsMemory {
		s.addGraph(srv)
		return srv
	}
	for _, op := range api.Ops {
		if op.Tool != nil && (profile == api.ToolsFull || !op.Tool.Full) {
			s.addTool(srv, op, profile == api.ToolsFull)
		}
	}
	s.addKnown(srv)
	return srv
}

// addKnown offers the prompt and the resources.
func (s *Server) addKnown(srv *mcp.Server) {
	srv.AddPrompt(&mcp.Prompt{Name: "known", Title: "What is known",
		Description: "What the memory knows about something, to begin a conversation with.",
		Arguments:   []*mcp.PromptArgument{{Name: "topic", Description: "a person, a project, a question", Required: true}}}, s.promptKnown)
	srv.AddResource(&mcp.Resource{URI: "cairn://memories/recent", Name: "recent", Title: "Recent memories",
		Description: "The twenty newest memories.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			newest, err := api.Around.Do(ctx, s.cfg.Door, caller(ctx), &api.AroundRequest{Limit: 20})
			if err != nil {
				return nil, s.public(err)
			}
			return resource(req.Params.URI, newest.Memories)
		})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: memoryURI + "{rid}", Name: "memory", Title: "A memory",
		Description: "One memory by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			m, err := api.Get.Do(ctx, s.cfg.Door, caller(ctx), &api.GetRequest{RID: strings.TrimPrefix(req.Params.URI, memoryURI)})
			if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			if err != nil {
				return nil, s.public(err)
			}
			return resource(req.Params.URI, m)
		})
}

// count has the door count each message of an exchange that is not an operation: a batch is as many as it holds.
func (s *Server) count(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/call" {
			if _, err := api.Message.Do(ctx, s.cfg.Door, caller(ctx), &api.Nothing{}); err != nil {
				return nil, &jsonrpc.Error{Code: codeRateLimited, Message: s.public(err).Error()}
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
		return &jsonrpc.Error{Code: codeBehind, Message: s.public(err).Error()}
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
	a, err := api.Prompt.Do(ctx, s.cfg.Door, caller(ctx), &api.PromptRequest{Text: topic, Budget: promptTokens, MinScore: api.PromptScore})
	if err != nil {
		return nil, s.public(err)
	}
	known := "What the memory knows about " + api.OneLine(topic) + ":\n" + cmp.Or(a.Text, "nothing\n")
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: known}}}}, nil
}

// promptTokens bounds what a prompt holds.
const promptTokens = 1000

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
		return nil, s.public(err)
	}
	for _, m := range newest.Memories {
		if strings.HasPrefix(m.RID, p.Argument.Value) && len(found.Completion.Values) < maxComplete {
			found.Completion.Values = append(found.Completion.Values, m.RID)
		}
	}
	return found, nil
}

func resource(uri string, v any) (*mcp.ReadResourceResult, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(b)}}}, nil
}
