package covenant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A verb reads its fields and gives what is to be done. Reading comes first, so that a malformed request does nothing.
type verb func(*fields) action

// An action does a request's work and gives its reply: a frame, or a *stream. What an error says is the client's to read.
type action func(context.Context, *session) (any, error)

// verbs is the protocol at a glance.
var verbs = map[string]verb{
	"ping":                   ping,
	"protocol_info":          protocolInfo,
	"authenticate":           authenticate,
	"submit_intent":          submitIntent,
	"recent_memory":          recentMemory,
	"search_memory":          searchMemory,
	"purge_memory":           purgeMemory,
	"recent_receipts":        recentReceipts,
	"recent_capabilities":    recentCapabilities,
	"grant_capability":       grantCapability,
	"revoke_capability":      revokeCapability,
	"purge_capabilities":     purge("capabilities", purgeCapabilities),
	"verify":                 verify,
	"ignore_check":           ignoreCheck,
	"list_tools":             listTools,
	"call_tool":              callTool,
	"recent_audit":           recentAudit,
	"verify_audit_integrity": verifyAuditIntegrity,
	"purge_audit":            purge("audit", purgeAudit),
	"enroll_peer":            enrollPeer,
	"list_peers":             listPeers,
	"revoke_peer":            revokePeer,
	"rotate_operator_token":  rotateOperatorToken,
	"purge_peers":            purge("peers", purgePeers),
	"send_a2_a_task":         sendTask,
	"try_recv_a2_a_task":     tryRecvTask,
	"post_a2_a_result":       postResult,
	"try_recv_a2_a_result":   tryRecvResult,
	"a2_a_queue":             taskQueue,
	"repair_a2_a_task":       repairTask,
}

// fault is the answer for a request that could not be done.
func fault(message string) kit.Object { return kit.Object{"kind", "error", "message", message} }

// orNull is a value, or null instead of an empty one.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

func ping(*fields) action {
	return func(context.Context, *session) (any, error) { return kit.Object{"kind", "pong"}, nil }
}

func protocolInfo(*fields) action {
	return func(context.Context, *session) (any, error) {
		return kit.Object{"kind", "protocol_info", "info", kit.Object{"protocol", "covenant.ipc", "version", 1, "min_supported", 1, "max_supported", 2}}, nil
	}
}

// authenticate binds a session that has no identity yet. One that has keeps it: the answer only says whose the token is.
func authenticate(f *fields) action {
	token := f.text("token_b58")
	return func(ctx context.Context, s *session) (any, error) {
		who, err := s.srv.identityOf(ctx, token)
		if err != nil {
			return nil, err
		}
		if who == nil {
			return s.srv.failAuthentication(s.transport, textToken)
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

// purge is a verb that drops what is older than a time: of a scope it knows the time alone.
func purge(what string, do func(ctx context.Context, s *session, before uint64) (uint64, error)) verb {
	return func(f *fields) action {
		before := f.number("before_ms")
		return gated(gate{label: what + ":purge", actions: []string{what + ".purge"},
			missing: fmt.Sprintf(`%s purge requires capability "%s.purge".`, what, what),
			allows:  func(sc scope) bool { return sc.cutoff(before) },
			reject:  what + " purge rejected by capability scope: before_ms does not match capability scope",
		}, func(ctx context.Context, s *session) (any, error) {
			purged, err := do(ctx, s, before)
			return kit.Object{"kind", what + "_purged", "purged", purged}, err
		})
	}
}

// identityOf finds the identity of a live token; nil for none.
func (s *Server) identityOf(ctx context.Context, token string) (*AgentID, error) {
	if err := s.known(ctx); err != nil {
		return nil, err
	}
	row, ok := s.peers.resolve(token)
	switch {
	case !ok:
		return nil, nil
	case row.Agent == nil:
		return &s.operator, nil
	}
	return row.Agent, nil
}

func (s *session) isOperator() bool { return s.peer.is(s.srv.operator) }

// write bounds how long a write may take to be answered.
func (s *Server) write(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.WriteTimeout)
}

func now() uint64 { return millis(time.Now()) }

// view reads the state at one index. subject is what an error calls the store.
func (s *Server) view(ctx context.Context, subject string, read func(*state.View, oplog.DB)) error {
	return storeError(subject, s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		read(v, db)
		return nil
	}))
}
