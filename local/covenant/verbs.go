package covenant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A verb reads its fields and gives the action that they ask for. Reading comes first, so that a malformed request does
// nothing.
type verb func(*fields) action

// An action does a request's work and gives its reply: a frame, or a *stream. What an error says is the client's to
// read.
type action func(context.Context, *session) (any, error)

// fresh is the verb with its reading done on a node that is as new as the request asks: min_index and consistency are
// fields of every kind.
func (v verb) fresh(f *fields) action {
	want, err := api.FreshOf(f.m)
	if err != nil {
		f.fail("fresh", err.Error())
	}
	do := v(f)
	return func(ctx context.Context, s *session) (any, error) {
		if err := s.cfg.Memory.Await(ctx, want); err != nil {
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
	return storeError("memory", err)
}

// A kind describes a kind of request: its handler, and its path in the HTTP mirror.
type kind struct {
	verb
	routes []route
}

// table is the protocol at a glance.
var table = map[string]kind{
	"ping":                   {verb: always(kit.Object{"kind", "pong"})},
	"protocol_info":          {verb: always(protocol)},
	"authenticate":           {verb: authenticate},
	"submit_intent":          {submitIntent, []route{{path: "POST /intent", streams: true}}},
	"recent_memory":          {recentMemory, []route{{path: "GET /memory/recent", query: "tier limit#10", streams: true}}},
	"search_memory":          {searchMemory, []route{{path: "GET /memory/search", query: "q:query tier limit#10 min_relevance#"}}},
	"purge_memory":           {purgeMemory, []route{{path: "POST /memory/purge"}}},
	"recent_receipts":        {recentReceipts, []route{{path: "GET /receipts/recent", query: "limit#10 since_ms#"}}},
	"recent_capabilities":    {recentCapabilities, []route{{path: "GET /capabilities/recent", query: "limit#10"}}},
	"grant_capability":       {grantCapability, []route{{path: "POST /capabilities/grant"}}},
	"revoke_capability":      {revokeCapability, []route{{path: "POST /capabilities/revoke"}}},
	"purge_capabilities":     {purge("capabilities", purgeCapabilities), []route{{path: "POST /capabilities/purge"}}},
	"verify":                 {verify, []route{{path: "GET /verify", query: "window#100"}}},
	"ignore_check":           {ignoreCheck, []route{{path: "POST /ignore/check"}}},
	"list_tools":             {always(kit.Object{"kind", "tool_list", "tools", tools}), []route{{path: "GET /tools"}}},
	"call_tool":              {callTool, []route{{path: "POST /tools/call"}}},
	"recent_audit":           {recentAudit, []route{{path: "GET /audit/recent", query: "limit#20 since_ms#", streams: true}}},
	"verify_audit_integrity": {verifyAuditIntegrity, []route{{path: "GET /audit/verify"}}},
	"purge_audit":            {purge("audit", purgeAudit), []route{{path: "POST /audit/purge"}}},
	"enroll_peer":            {enrollPeer, []route{{path: "POST /peers/enroll"}}},
	"list_peers":             {listPeers, []route{{path: "GET /peers/list", query: "limit#20 prefix:pubkey_prefix status:status_filter"}}},
	"revoke_peer":            {revokePeer, []route{{path: "POST /peers/revoke"}}},
	"rotate_operator_token":  {rotateOperatorToken, []route{{path: "POST /peers/rotate", empty: true}}},
	"purge_peers":            {purge("peers", purgePeers), []route{{path: "POST /peers/purge"}}},
	"send_a2_a_task":         {sendTask, []route{{path: "POST /a2a/tasks", under: "task"}}},
	"try_recv_a2_a_task":     {tryRecvTask, []route{{path: "GET /a2a/tasks/next"}}},
	"post_a2_a_result":       {postResult, []route{{path: "POST /a2a/results", under: "result"}}},
	"try_recv_a2_a_result":   {tryRecvResult, []route{{path: "GET /a2a/results/next"}}},
	"recent_a2_a_tasks":      {recentTasks, []route{{path: "GET /a2a/tasks/recent", query: "limit#10"}}},
	"recent_a2_a_results":    {recentResults, []route{{path: "GET /a2a/results/recent", query: "limit#10"}}},
	"a2_a_queue":             {taskQueue, []route{{path: "GET /a2a/queue", query: "limit#10 min_lease_age_ms# deadline_within_ms# state_filter"}}},
	"repair_a2_a_task":       {verb: repairTask},
	"recent_debits":          {recentDebits, []route{{path: "GET /budget/debits", query: "limit#20"}}},
	"resume_intent":          {resumeIntent, []route{{path: "POST /intents/resume"}}},
}

// Kinds returns the kinds of requests, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(table)) }

// orNull is a value, or null instead of an empty one.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// always is a verb without fields that answers one thing.
func always(answer any) verb {
	return func(*fields) action { return func(context.Context, *session) (any, error) { return answer, nil } }
}

var protocol = kit.Object{"kind", "protocol_info", "info", kit.Object{"protocol", "covenant.ipc", "version", 1, "min_supported", 1, "max_supported", 2}}

// authenticate binds a session that has no identity yet. One that has keeps it: the answer only says whose the token
// is.
func authenticate(f *fields) action {
	token := f.text("token_b58")
	return func(ctx context.Context, s *session) (any, error) {
		who, err := s.identityOf(ctx, token)
		if err != nil {
			return nil, err
		}
		if who == nil {
			return s.failAuthentication(s.transport, TextToken)
		}
		if s.peer.Pubkey == "" {
			s.peer = *who
		}
		return kit.Object{"kind", "authenticated", "display", who.Display}, nil
	}
}

// operatorOnly lets a request's work be done for the operator alone.
func operatorOnly(refusal string, do action) action {
	return func(ctx context.Context, s *session) (any, error) {
		if !s.isOperator() {
			return nil, errors.New(refusal)
		}
		return do(ctx, s)
	}
}

// purge is a verb that drops rows from before a time. Of a scope it checks before_ms alone.
func purge(what string, do func(ctx context.Context, s *session, before uint64) (uint64, error)) verb {
	return func(f *fields) action {
		before := f.number("before_ms")
		return gated(gate{label: what + ":purge", actions: []string{what + ".purge"},
			missing: fmt.Sprintf(`%s purge requires capability "%s.purge".`, what, what),
			allows:  func(sc scope) bool { return sc.atMost("before_ms", before) },
			reject:  what + " purge rejected by capability scope: before_ms does not match capability scope",
		}, func(ctx context.Context, s *session) (any, error) {
			purged, err := do(ctx, s, before)
			return kit.Object{"kind", what + "_purged", "purged", purged}, err
		})
	}
}

func (s *session) isOperator() bool { return s.peer.is(s.operator) }

// A session is one authenticated identity on one connection, or behind one HTTP request.
type session struct {
	*Home
	peer      AgentID
	transport string
}

// A route is a kind of request over HTTP: with GET its fields come from the query, else the body is its fields.
type route struct {
	path    string // method and path
	query   string // its parameters: NAME for a text, NAME#DEFAULT for a number, NAME:FIELD when the field has another name
	under   string // the body is this one field
	empty   bool   // no body is read
	streams bool   // may be answered as server-sent events
}
