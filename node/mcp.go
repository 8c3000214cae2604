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

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// A tool is something a model may do. Its description is written for the model: when to use it, and what it gets.
type tool struct {
	name, description string
	args              string // "name:type" of each argument, ! behind those that must be there
	readOnly          bool
	call              func(ctx context.Context, s *Service, c Caller, args fields) (any, error)
}

// tools is the surface for models at a glance.
var tools = []tool{
	{name: "remember", description: "Store one fact, decision, preference or event so that it is there in later conversations. Write it as a sentence that stands by itself: who, what, when. " +
		"Use it when the user says something worth keeping, when a decision is made, and when you learn how something works. Never store secrets.",
		args: "text,content,memory:string! importance:unit memory_type,type:string namespace:string domain:string source:string certainty:unit valence:signed half_life:hours metadata:any " +
			"emotional_state:string due_at:date created_at:date idempotency_key:string", call: mcpRemember},
	{name: "recall", readOnly: true, description: "Find what is known about something: memories by words, meaning, relation and time, best first, each with a score and why it was found. Nothing that does not match is returned; min_score leaves out weak matches too. " +
		"Use it at the start of a task, and before you answer anything about the user, the project or earlier work.",
		args: "query,text,q:string! top_k,limit,k:integer[0..] namespace:string domain:string source:string memory_type:string time_window:window include_consolidated:boolean expand_entities:boolean " +
			"skip_reinforce:boolean as_of:date min_score:number[0..]", call: mcpRecall},
	{name: "correct", description: "Change a memory that is wrong or out of date. What it said before is kept as a revision. Prefer it to forgetting and storing anew.",
		args: "rid,id,memory_id:string! reason:string! new_text,text,content:string new_importance:unit new_valence:signed metadata_merge:object", call: mcpCorrect},
	{name: "forget", description: "Make a memory invisible for good. Use it when the user asks for it, or when a memory should never have been stored.", args: "rid,id,memory_id:string! reason:string", call: mcpForget},
	{name: "relate", description: "Say that two entities stand in a relation, such as Alice leads payments. Recall follows relations between what a question names.",
		args: "entity,src,source,from:string! relationship,rel_type,relation:string! target,dst,to:string! weight:weight", call: mcpRelate},
	{name: "timeline", readOnly: true, description: "What was stored shortly before and after a memory, oldest first. Without a rid: the newest memories. Use it to see the course of events around something.",
		args: "rid,id,memory_id:string limit:integer[0..] namespace:string", call: mcpTimeline},
	{name: "think", description: "Let the memory look over itself: merge duplicates, find contradictions, and say what deserves attention. Use it at the end of a long piece of work, " +
		"or when memories seem to disagree; then bring the triggers it returns to the user.",
		args: "run_consolidation:boolean run_conflict_scan,run_conflicts:boolean run_pattern_mining,run_patterns:boolean run_personality:boolean", call: mcpThink},
	{name: "status", readOnly: true, description: "How many memories there are, and whether the memory takes writes.", args: "", call: mcpStatus},
}

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
		q.c.Forward = true // a model has no idea of a cluster
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
	for _, t := range tools {
		takes := field.Parse(t.args)
		srv.AddTool(&mcp.Tool{Name: t.name, Description: t.description, InputSchema: takes.Schema(), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.readOnly}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				args := fields{}
				if len(req.Params.Arguments) > 0 {
					if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
						return toolError(oplog.Errorf(oplog.Invalid, "arguments are no object")), nil
					}
				}
				if err := args.check(takes, s.cfg.Lenient); err != nil {
					return toolError(err), nil
				}
				if decoded, ok := ctx.Value(turnKey{}).(func()); ok {
					decoded()
				}
				start, c := time.Now(), caller(ctx)
				result, err := t.call(ctx, s, c, args)
				s.slowly("mcp", t.name, c, start)
				if err != nil {
					return toolError(err), nil
				}
				b, err := json.Marshal(result)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}, StructuredContent: json.RawMessage(b)}, nil
			})
	}
	srv.AddPrompt(&mcp.Prompt{Name: "known", Title: "What is known", Description: "What the memory knows about something, to begin a conversation with.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Description: "a person, a project, a question", Required: true}}}, s.promptKnown)
	srv.AddResource(&mcp.Resource{URI: "cairn://memories/recent", Name: "recent", Title: "Recent memories", Description: "The twenty newest memories.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			list, err := s.List(ctx, caller(ctx), Listing{Limit: 20})
			if err != nil {
				return nil, err
			}
			return resource(req.Params.URI, rows(list))
		})
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: memoryURI + "{rid}", Name: "memory", Title: "A memory", Description: "One memory by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			m, err := s.Memory(ctx, caller(ctx), strings.TrimPrefix(req.Params.URI, memoryURI), Stale)
			if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			if err != nil {
				return nil, err
			}
			return resource(req.Params.URI, memoryRow(m))
		})
	return srv
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
	a, err := s.Recall(ctx, caller(ctx), index.Query{Text: topic, K: promptRows, Expand: true}, Stale)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What the memory knows about %s:\n", topic)
	for _, h := range a.Hits {
		fmt.Fprintf(&b, "- %s (%s, %s)\n", h.Memory.Text, h.Memory.Created.Time().UTC().Format(time.DateOnly), h.Memory.RID)
	}
	if len(a.Hits) == 0 {
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

func rows(list []*oplog.Memory) []any {
	r := make([]any, len(list))
	for i, m := range list {
		r[i] = memoryRow(m)
	}
	return r
}

func mcpRemember(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	d, err := httpDraft(args)
	if err != nil {
		return nil, err
	}
	r, err := s.Remember(ctx, c, args.str("idempotency_key", ""), d)
	if err != nil {
		return nil, err
	}
	return map[string]any{"rid": r.RIDs[0], "log_index": r.Index}, nil
}

func mcpRecall(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	q, err := httpQuery(args)
	if err != nil {
		return nil, err
	}
	a, err := s.RecallThen(ctx, c, q, args.date("as_of"), Stale)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(a.Hits))
	for i, h := range a.Hits {
		results[i] = httpRow(h, false)
	}
	return map[string]any{"results": results, "total": len(results), "confidence": a.Info.Confidence, "hints": hints(a, q.Text),
		"considered": a.Info.Considered, "below_min_score": a.Info.Below}, nil
}

func mcpCorrect(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	rid, err := args.must("rid")
	if err != nil {
		return nil, err
	}
	n, err := correction(args)
	if err != nil {
		return nil, err
	}
	revision, _, err := s.Correct(ctx, c, rid, n)
	return map[string]any{"rid": rid, "revision": revision}, err
}

func mcpForget(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	rid, err := args.must("rid")
	if err != nil {
		return nil, err
	}
	found, _, err := s.ForgetFor(ctx, c, rid, args.str("reason", ""))
	return map[string]any{"rid": rid, "found": found}, err
}

func mcpRelate(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	for _, name := range []string{"entity", "target", "relationship"} {
		if _, err := args.must(name); err != nil {
			return nil, err
		}
	}
	a, err := s.relate(ctx, c, &api.RelateRequest{Src: args.str("entity", ""), Type: args.str("relationship", ""), Dst: args.str("target", ""), Weight: args.num("weight", 1)})
	if err != nil {
		return nil, err
	}
	return map[string]any{"edge_id": a.ID}, err
}

func mcpTimeline(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	n := int(min(args.whole("limit", 10), index.MaxK))
	var list []*oplog.Memory
	var err error
	if rid := args.str("rid", ""); rid != "" {
		list, err = s.Timeline(ctx, c, rid, n)
	} else {
		list, err = s.List(ctx, c, Listing{Namespace: args.str("namespace", ""), Limit: n})
	}
	return map[string]any{"memories": rows(list)}, err
}

func mcpThink(ctx context.Context, s *Service, c Caller, args fields) (any, error) {
	a, err := s.Think(ctx, c, thinkRequest(args, false))
	if err != nil {
		return nil, err
	}
	return thinkRow(a), nil
}

func mcpStatus(ctx context.Context, s *Service, c Caller, _ fields) (any, error) {
	st, err := s.Stats(ctx, c, Stale)
	if err != nil {
		return nil, err
	}
	_, led := s.machine.leader()
	return map[string]any{"active_memories": st.Active, "entities": st.Entities, "edges": st.Edges, "database": c.Database, "accepts_writes": led, "node_id": s.cfg.NodeID}, nil
}
