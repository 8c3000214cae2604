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

// Config configures a server. Door and Version are required.
type Config struct {
	Door    api.Door
	Version string       // version of the node
	Lenient bool         // treats arguments of another type as absent
	Log     *slog.Logger // default: discards
}

// A Server answers MCP messages. Its methods may be called from any goroutine.
type Server struct {
	cfg  Config
	http http.Handler
}

// New returns a server with all profiles. Their MCP servers are created once, because that takes milliseconds.
func New(cfg Config) *Server {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Server{cfg: cfg}
	profiles := map[string]*mcp.Server{}
	for _, name := range api.ToolProfiles {
		profiles[name] = s.newServer(name)
	}
	s.http = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return profiles[profileOf(r)] },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return s
}

// profileOf returns the profile that a URL names.
func profileOf(r *http.Request) string { return cmp.Or(r.URL.Query().Get("tools"), api.ToolsCore) }

// Serve answers a message of a caller. It calls decoded, if not nil, once it has decoded the message, so that the
// caller can release its turn at decoding.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, c api.Caller, message []byte, decoded func()) {
	switch profile := profileOf(r); {
	case !slices.Contains(api.ToolProfiles, profile):
		reject(w, nil, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("tools: want one of %s, got %.40q", strings.Join(api.ToolProfiles, ", "), profile))
		return
	case overMaxBatch(message):
		reject(w, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Invalid Request: a batch holds at most %d messages", maxBatch))
		return
	}
	if err := field.UTF8(message); err != nil {
		reject(w, nil, jsonrpc.CodeParseError, "Parse error: "+err.Error())
		return
	}
	if len(message) > 0 && !json.Valid(message) { // the library would answer with plain text
		reject(w, nil, jsonrpc.CodeParseError, "Parse error: malformed JSON")
		return
	}
	if id, wrong := headerMismatch(r.Header, message); wrong != "" {
		reject(w, id, mcp.CodeHeaderMismatch, wrong)
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

// reject answers a request whose message is not passed on to the library. id is the message's id, if known.
func reject(w http.ResponseWriter, id json.RawMessage, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, // the client may have left
		"error": map[string]any{"code": code, "message": text}})
}

type (
	callerKey  struct{} // an api.Caller
	decodedKey struct{} // a func()
)

// callerOf returns the caller of an exchange. A context without one gives a caller without rights.
func callerOf(ctx context.Context) api.Caller {
	c, _ := ctx.Value(callerKey{}).(api.Caller)
	return c
}

// instructions tell a model how to use the tools of the profiles core and full.
const instructions = "A memory that outlives conversations. Recall before you answer; remember what will matter later. " +
	"A rid is a memory's number, such as #812, or its whole id. Answers are text; with format json they are JSON. " + api.QuotedData

// listTTL is the time for which clients may cache lists, which change only with the node's version.
const listTTL = time.Hour

// newServer returns the MCP server of a profile. Its capabilities never change, so it sends no notifications of
// changes. Its answers depend on the caller, so shared caches must not keep them.
func (s *Server) newServer(profile string) *mcp.Server {
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
			return s.complete(ctx, callerOf(ctx), r.Params)
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: s.cfg.Version}, opts)
	srv.AddReceivingMiddleware(s.countMessages)
	if profile == api.ToolsMemory {
		s.addGraph(srv)
		return srv
	}
	for _, op := range api.Ops {
		if op.Tool != nil && (profile == api.ToolsFull || !op.Tool.Full) {
			s.addOperation(srv, op, profile == api.ToolsFull)
		}
	}
	s.addPromptAndResources(srv)
	return srv
}

// addPromptAndResources adds the prompt and the resources.
func (s *Server) addPromptAndResources(srv *mcp.Server) {
	srv.AddPrompt(&mcp.Prompt{Name: "known", Title: "What is known",
		Description: "What the memory knows about something, to begin a conversation with.",
		Arguments:   []*mcp.PromptArgument{{Name: "topic", Description: "a person, a project, a question", Required: true}}}, s.promptKnown)
	srv.AddResource(&mcp.Resource{URI: "cairn://memories/recent", Name: "recent", Title: "Recent memories",
		Description: "The twenty newest memories.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			newest, err := api.Around.Do(ctx, s.cfg.Door, callerOf(ctx), &api.AroundRequest{Limit: 20})
			if err != nil {
				return nil, s.publicError(err)
			}
			return resource(req.Params.URI, newest.Memories)
		})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: memoryURI + "{rid}", Name: "memory", Title: "A memory",
		Description: "One memory by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			m, err := api.Get.Do(ctx, s.cfg.Door, callerOf(ctx), &api.GetRequest{RID: strings.TrimPrefix(req.Params.URI, memoryURI)})
			if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			if err != nil {
				return nil, s.publicError(err)
			}
			return resource(req.Params.URI, m)
		})
}

// countMessages has the door count each message that is not a tool call, and waits for the freshness that the message
// requests. Each message of a batch counts.
func (s *Server) countMessages(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/call" {
			if _, err := api.Message.Do(ctx, s.cfg.Door, callerOf(ctx), &api.Nothing{}); err != nil {
				return nil, &jsonrpc.Error{Code: codeRateLimited, Message: s.publicError(err).Error()}
			}
		}
		if err := s.await(ctx, req.GetParams()); err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
}

// metaPrefix begins the keys in a message's _meta by which a client requests a minimum freshness: cairn/min_index and
// cairn/consistency. They apply to tools, prompts and resources.
const metaPrefix = "cairn/"

// indexWaitTimeout bounds how long a message waits for an index.
const indexWaitTimeout = 2 * time.Second

// await waits until this node is as fresh as a message requests.
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
	ctx, cancel := context.WithTimeout(ctx, indexWaitTimeout)
	defer cancel()
	if _, err := api.Await.Do(ctx, s.cfg.Door, callerOf(ctx), &api.AwaitRequest{Fresh: want}); err != nil {
		return &jsonrpc.Error{Code: codeBehind, Message: s.publicError(err).Error()}
	}
	return nil
}

// codeBehind is the JSON-RPC error code of a node that did not reach the requested freshness.
const codeBehind = -32001

// codeRateLimited is the JSON-RPC error code of a caller over its rate limit. It is the first of the codes for
// servers.
const codeRateLimited = -32000

// promptKnown returns the prompt "known": a message with the memories about a topic.
func (s *Server) promptKnown(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	topic := r.Params.Arguments["topic"]
	if strings.TrimSpace(topic) == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "missing 'topic'"}
	}
	a, err := api.Prompt.Do(ctx, s.cfg.Door, callerOf(ctx), &api.PromptRequest{Text: topic, Budget: promptTokens, MinScore: api.PromptScore})
	if err != nil {
		return nil, s.publicError(err)
	}
	known := "What the memory knows about " + api.OneLine(topic) + ":\n" + cmp.Or(a.Text, "nothing\n")
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: known}}}}, nil
}

// promptTokens bounds the tokens of the prompt.
const promptTokens = 1000

const (
	memoryURI   = "cairn://memory/"
	maxComplete = 20
	maxCompared = 200 // newest memories among which complete searches
)

// complete completes the prefix of a memory's id from the newest memories. It completes nothing else.
func (s *Server) complete(ctx context.Context, c api.Caller, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	found := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if p.Ref == nil || !strings.HasPrefix(p.Ref.URI, memoryURI) || p.Argument.Name != "rid" {
		return found, nil
	}
	newest, err := api.Around.Do(ctx, s.cfg.Door, c, &api.AroundRequest{Limit: maxCompared})
	if err != nil {
		return nil, s.publicError(err)
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
