// Package verbs has the requests of Covenant: the table of their kinds, and for each its fields, its gate and its work
// on a home. It knows no connection: socket and HTTP mirror run the same verbs.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A verb reads its fields and gives the action that they ask for. Reading comes first, so that a malformed request does
// nothing.
type Verb func(*serve.Fields) Action

// An action does a request's work and gives its reply: a frame, or a *stream. What an error says is the client's to
// read.
type Action func(context.Context, *Session) (any, error)

// Fresh is the verb with its reading done on a node that is as new as the request asks: min_index and consistency are
// fields of every kind.
func (v Verb) Fresh(f *serve.Fields) Action {
	want, err := api.FreshOf(f.Members)
	if err != nil {
		f.Fail("fresh", err.Error())
	}
	do := v(f)
	return func(ctx context.Context, s *Session) (any, error) {
		if err := s.Config.Memory.Await(ctx, want); err != nil {
			return nil, notFresh(err)
		}
		return do(ctx, s)
	}
}

// notFresh is the error that a client is told when this node did not become as new as it asked.
func notFresh(err error) error {
	var e *oplog.Error
	if errors.As(err, &e) && e.Kind == oplog.Unavailable {
		return fmt.Errorf("memory: %s", e.Text)
	}
	return home.StoreError("memory", err)
}

// A kind describes a kind of request: its handler, and its path in the HTTP mirror, if it has one.
type kind struct {
	Verb
	Route
}

// Table is the protocol at a glance.
var Table = map[string]kind{
	"ping":                   {Verb: always(kit.Object{"kind", "pong"})},
	"protocol_info":          {Verb: always(About)},
	"authenticate":           {Verb: authenticate},
	"submit_intent":          {submitIntent, Route{Path: "POST /intent", Streams: true}},
	"recent_memory":          {recentMemory, Route{Path: "GET /memory/recent", Query: "tier limit#10", Streams: true}},
	"search_memory":          {searchMemory, Route{Path: "GET /memory/search", Query: "q:query tier limit#10 min_relevance#"}},
	"purge_memory":           {purgeMemory, Route{Path: "POST /memory/purge"}},
	"recent_receipts":        {recentReceipts, Route{Path: "GET /receipts/recent", Query: "limit#10 since_ms#"}},
	"recent_capabilities":    {recentCapabilities, Route{Path: "GET /capabilities/recent", Query: "limit#10"}},
	"grant_capability":       {grantCapability, Route{Path: "POST /capabilities/grant"}},
	"revoke_capability":      {revokeCapability, Route{Path: "POST /capabilities/revoke"}},
	"purge_capabilities":     {purge("capabilities", purgeCapabilities), Route{Path: "POST /capabilities/purge"}},
	"verify":                 {verify, Route{Path: "GET /verify", Query: "window#100"}},
	"ignore_check":           {ignoreCheck, Route{Path: "POST /ignore/check"}},
	"list_tools":             {always(kit.Object{"kind", "tool_list", "tools", tools}), Route{Path: "GET /tools"}},
	"call_tool":              {callTool, Route{Path: "POST /tools/call"}},
	"recent_audit":           {recentAudit, Route{Path: "GET /audit/recent", Query: "limit#20 since_ms#", Streams: true}},
	"verify_audit_integrity": {verifyAuditIntegrity, Route{Path: "GET /audit/verify"}},
	"purge_audit":            {purge("audit", purgeAudit), Route{Path: "POST /audit/purge"}},
	"enroll_peer":            {enrollPeer, Route{Path: "POST /peers/enroll"}},
	"list_peers":             {listPeers, Route{Path: "GET /peers/list", Query: "limit#20 prefix:pubkey_prefix status:status_filter"}},
	"revoke_peer":            {revokePeer, Route{Path: "POST /peers/revoke"}},
	"rotate_operator_token":  {rotateOperatorToken, Route{Path: "POST /peers/rotate", Empty: true}},
	"purge_peers":            {purge("peers", purgePeers), Route{Path: "POST /peers/purge"}},
	"send_a2_a_task":         {sendTask, Route{Path: "POST /a2a/tasks", Under: "task"}},
	"try_recv_a2_a_task":     {tryRecvTask, Route{Path: "GET /a2a/tasks/next"}},
	"post_a2_a_result":       {postResult, Route{Path: "POST /a2a/results", Under: "result"}},
	"try_recv_a2_a_result":   {tryRecvResult, Route{Path: "GET /a2a/results/next"}},
	"recent_a2_a_tasks":      {recentTasks, Route{Path: "GET /a2a/tasks/recent", Query: "limit#10"}},
	"recent_a2_a_results":    {recentResults, Route{Path: "GET /a2a/results/recent", Query: "limit#10"}},
	"a2_a_queue": {taskQueue,
		Route{Path: "GET /a2a/queue", Query: "limit#10 min_lease_age_ms# deadline_within_ms# state_filter"}},
	"repair_a2_a_task": {Verb: repairTask},
	"recent_debits":    {recentDebits, Route{Path: "GET /budget/debits", Query: "limit#20"}},
	"resume_intent":    {resumeIntent, Route{Path: "POST /intents/resume"}},
}

// Kinds returns the kinds of requests, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(Table)) }

// orNull is a value, or null instead of an empty one.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// always is a verb without fields that answers one thing.
func always(answer any) Verb {
	return func(*serve.Fields) Action {
		return func(context.Context, *Session) (any, error) { return answer, nil }
	}
}

// About answers protocol_info.
var About = kit.Object{"kind", "protocol_info", "info",
	kit.Object{"protocol", "covenant.ipc", "version", 1, "min_supported", 1, "max_supported", 2}}

// authenticate binds a session that has no identity yet. One that has keeps it: the answer only says whose the token
// is.
func authenticate(f *serve.Fields) Action {
	token := f.Text("token_b58")
	return func(ctx context.Context, s *Session) (any, error) {
		who, err := s.IdentityOf(ctx, token)
		if err != nil {
			return nil, err
		}
		if who == nil {
			return s.FailAuthentication(s.Transport, protocol.TextToken)
		}
		if s.Peer.Pubkey == "" {
			s.Peer = *who
		}
		return kit.Object{"kind", "authenticated", "display", who.Display}, nil
	}
}

// operatorOnly lets a request's work be done for the operator alone.
func operatorOnly(refusal string, do Action) Action {
	return func(ctx context.Context, s *Session) (any, error) {
		if !s.isOperator() {
			return nil, errors.New(refusal)
		}
		return do(ctx, s)
	}
}

// purge is a verb that drops rows from before a time. Of a scope it checks before_ms alone.
func purge(what string, do func(ctx context.Context, s *Session, before uint64) (uint64, error)) Verb {
	return func(f *serve.Fields) Action {
		before := f.Number("before_ms")
		return gated(gate{label: what + ":purge", actions: []string{what + ".purge"},
			missing: fmt.Sprintf(`%s purge requires capability "%s.purge".`, what, what),
			allows:  func(sc scope) bool { return sc.atMost("before_ms", before) },
			reject:  what + " purge rejected by capability scope: before_ms does not match capability scope",
		}, func(ctx context.Context, s *Session) (any, error) {
			purged, err := do(ctx, s, before)
			return kit.Object{"kind", what + "_purged", "purged", purged}, err
		})
	}
}

func (s *Session) isOperator() bool { return s.Peer.Same(s.Operator) }

// A session is one authenticated identity on one connection, or behind one HTTP request.
type Session struct {
	*home.Home
	Peer      home.AgentID
	Transport string
}

// A route is a kind of request over HTTP: with GET its fields come from the query, else the body is its fields.
type Route struct {
	Path    string // method and path
	Query   string // its parameters: NAME for a text, NAME#DEFAULT for a number, NAME:FIELD when the field has another name
	Under   string // the body is this one field
	Empty   bool   // no body is read
	Streams bool   // may be answered as server-sent events
}
