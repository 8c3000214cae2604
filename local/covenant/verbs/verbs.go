// Package verbs implements the requests of Covenant: a table of their kinds, and for each kind its fields, its
// capability check and its work on a home. The socket and the HTTP mirror run the same verbs.
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

// Verb reads the fields of a request and returns the action to run. All fields are read before the action runs, so a
// malformed request has no effect.
type Verb func(*serve.Fields) Action

// Action does the work of a request and returns its reply: a frame, or a *protocol.Stream. The client gets the text
// of an error.
type Action func(context.Context, *Session) (any, error)

// Prepare reads the fields and returns an action that first waits until this node has the state that the request
// requires (fields min_index and consistency of every kind).
func (v Verb) Prepare(f *serve.Fields) Action {
	want, err := api.FreshOf(f.Members)
	if err != nil {
		f.Fail("fresh", err.Error())
	}
	do := v(f)
	return func(ctx context.Context, s *Session) (any, error) {
		if err := s.Config.Memory.Await(ctx, want); err != nil {
			return nil, awaitError(err)
		}
		return do(ctx, s)
	}
}

// awaitError returns the error that the client gets if this node did not reach the required state.
func awaitError(err error) error {
	var e *oplog.Error
	if errors.As(err, &e) && e.Kind == oplog.Unavailable {
		return fmt.Errorf("memory: %s", e.Text)
	}
	return home.StoreError("memory", err)
}

// kind is a kind of request: its verb, and its route over HTTP if it has one.
type kind struct {
	Verb
	Route
}

// Table lists all kinds of requests.
var Table = map[string]kind{
	"ping":                   {Verb: constant(kit.Object{"kind", "pong"})},
	"protocol_info":          {Verb: constant(ProtocolInfo)},
	"authenticate":           {Verb: authenticate},
	"submit_intent":          {submitIntent, Route{Path: "POST /intent", Streams: true}},
	"recent_memory":          {recentMemory, Route{Path: "GET /memory/recent", Query: "tier limit#10", Streams: true}},
	"search_memory":          {searchMemory, Route{Path: "GET /memory/search", Query: "q:query tier limit#10 min_relevance#"}},
	"purge_memory":           {purgeMemory, Route{Path: "POST /memory/purge"}},
	"recent_receipts":        {recentReceipts, Route{Path: "GET /receipts/recent", Query: "limit#10 since_ms#"}},
	"recent_capabilities":    {recentCapabilities, Route{Path: "GET /capabilities/recent", Query: "limit#10"}},
	"grant_capability":       {grantCapability, Route{Path: "POST /capabilities/grant"}},
	"revoke_capability":      {revokeCapability, Route{Path: "POST /capabilities/revoke"}},
	"purge_capabilities":     {purgeVerb("capabilities", purgeCapabilities), Route{Path: "POST /capabilities/purge"}},
	"verify":                 {verify, Route{Path: "GET /verify", Query: "window#100"}},
	"ignore_check":           {ignoreCheck, Route{Path: "POST /ignore/check"}},
	"list_tools":             {constant(kit.Object{"kind", "tool_list", "tools", tools}), Route{Path: "GET /tools"}},
	"call_tool":              {callTool, Route{Path: "POST /tools/call"}},
	"recent_audit":           {recentAudit, Route{Path: "GET /audit/recent", Query: "limit#20 since_ms#", Streams: true}},
	"verify_audit_integrity": {verifyAuditIntegrity, Route{Path: "GET /audit/verify"}},
	"purge_audit":            {purgeVerb("audit", purgeAudit), Route{Path: "POST /audit/purge"}},
	"enroll_peer":            {enrollPeer, Route{Path: "POST /peers/enroll"}},
	"list_peers":             {listPeers, Route{Path: "GET /peers/list", Query: "limit#20 prefix:pubkey_prefix status:status_filter"}},
	"revoke_peer":            {revokePeer, Route{Path: "POST /peers/revoke"}},
	"rotate_operator_token":  {rotateOperatorToken, Route{Path: "POST /peers/rotate", NoBody: true}},
	"purge_peers":            {purgeVerb("peers", purgePeers), Route{Path: "POST /peers/purge"}},
	"send_a2_a_task":         {sendTask, Route{Path: "POST /a2a/tasks", BodyField: "task"}},
	"try_recv_a2_a_task":     {tryRecvTask, Route{Path: "GET /a2a/tasks/next"}},
	"post_a2_a_result":       {postResult, Route{Path: "POST /a2a/results", BodyField: "result"}},
	"try_recv_a2_a_result":   {tryRecvResult, Route{Path: "GET /a2a/results/next"}},
	"recent_a2_a_tasks":      {recentTasks, Route{Path: "GET /a2a/tasks/recent", Query: "limit#10"}},
	"recent_a2_a_results":    {recentResults, Route{Path: "GET /a2a/results/recent", Query: "limit#10"}},
	"a2_a_queue": {taskQueue,
		Route{Path: "GET /a2a/queue", Query: "limit#10 min_lease_age_ms# deadline_within_ms# state_filter"}},
	"repair_a2_a_task": {Verb: repairTask},
	"recent_debits":    {recentDebits, Route{Path: "GET /budget/debits", Query: "limit#20"}},
	"resume_intent":    {resumeIntent, Route{Path: "POST /intents/resume"}},
}

// Kinds returns the names of all kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(Table)) }

// orNull returns nil in place of a zero value.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// constant makes a verb without fields that always gives the same answer.
func constant(answer any) Verb {
	return func(*serve.Fields) Action {
		return func(context.Context, *Session) (any, error) { return answer, nil }
	}
}

// ProtocolInfo is the answer to protocol_info.
var ProtocolInfo = kit.Object{"kind", "protocol_info", "info",
	kit.Object{"protocol", "covenant.ipc", "version", 1, "min_supported", 1, "max_supported", 2}}

// authenticate sets the session's identity to that of a token. A session that already has an identity keeps it, and
// the answer only names the owner of the token.
func authenticate(f *serve.Fields) Action {
	token := f.Text("token_b58")
	return func(ctx context.Context, s *Session) (any, error) {
		who, err := s.IdentityOf(ctx, token)
		if err != nil {
			return nil, err
		}
		if who == nil {
			return s.FailAuthentication(s.Transport, protocol.InvalidToken)
		}
		if s.Peer.Pubkey == "" {
			s.Peer = *who
		}
		return kit.Object{"kind", "authenticated", "display", who.Display}, nil
	}
}

// operatorOnly makes an action that only the operator may run.
func operatorOnly(refusal string, do Action) Action {
	return func(ctx context.Context, s *Session) (any, error) {
		if !s.isOperator() {
			return nil, errors.New(refusal)
		}
		return do(ctx, s)
	}
}

// purgeVerb returns a verb that removes rows from before a time. Of a scope, it checks only before_ms.
func purgeVerb(store string, do func(ctx context.Context, s *Session, before uint64) (uint64, error)) Verb {
	return func(f *serve.Fields) Action {
		before := f.Number("before_ms")
		return requireGate(gate{label: store + ":purge", actions: []string{store + ".purge"},
			missing: fmt.Sprintf(`%s purge requires capability "%s.purge".`, store, store),
			allows:  func(sc scope) bool { return sc.atMost("before_ms", before) },
			reject:  store + " purge rejected by capability scope: before_ms does not match capability scope",
		}, func(ctx context.Context, s *Session) (any, error) {
			purged, err := do(ctx, s, before)
			return kit.Object{"kind", store + "_purged", "purged", purged}, err
		})
	}
}

func (s *Session) isOperator() bool { return s.Peer.Same(s.Operator) }

// Session is an authenticated identity on a connection, or of one HTTP request.
type Session struct {
	*home.Home
	Peer      home.AgentID
	Transport string
}

// Route maps a kind of request to HTTP. The fields of a GET come from the query, those of other requests from the
// body.
type Route struct {
	Path      string // method and path
	Query     string // query parameters: NAME is a text, NAME#DEFAULT a number, NAME:FIELD sets a field of another name
	BodyField string // the field that the body is the value of; empty: the body is the object of all fields
	NoBody    bool   // the request has no body
	Streams   bool   // may be answered as server-sent events
}
