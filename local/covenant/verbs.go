package covenant

import (
	"context"
	"time"
)

// A verb reads its fields and gives what is to be done. Reading comes first, so that a malformed request does nothing.
type verb func(*fields) action

// An action does a request's work and gives its reply: a frame, or a *stream.
type action func(context.Context, *session) any

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
	"purge_capabilities":     purgeCapabilities,
	"verify":                 verify,
	"ignore_check":           ignoreCheck,
	"list_tools":             listTools,
	"call_tool":              callTool,
	"recent_audit":           recentAudit,
	"verify_audit_integrity": verifyAuditIntegrity,
	"purge_audit":            purgeAudit,
	"enroll_peer":            enrollPeer,
	"list_peers":             listPeers,
	"revoke_peer":            revokePeer,
	"rotate_operator_token":  rotateOperatorToken,
	"purge_peers":            purgePeers,
	"send_a2_a_task":         sendTask,
	"try_recv_a2_a_task":     tryRecvTask,
	"post_a2_a_result":       postResult,
	"try_recv_a2_a_result":   tryRecvResult,
	"a2_a_queue":             taskQueue,
	"repair_a2_a_task":       repairTask,
}

type errorFrame struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func fault(message string) errorFrame { return errorFrame{"error", message} }

type kindFrame struct {
	Kind string `json:"kind"`
}

func ping(*fields) action {
	return func(context.Context, *session) any { return kindFrame{"pong"} }
}

type infoFrame struct {
	Kind string `json:"kind"`
	Info struct {
		Protocol string `json:"protocol"`
		Version  int    `json:"version"`
		Min      int    `json:"min_supported"`
		Max      int    `json:"max_supported"`
	} `json:"info"`
}

func protocolInfo(*fields) action {
	return func(context.Context, *session) any {
		f := infoFrame{Kind: "protocol_info"}
		f.Info.Protocol, f.Info.Version, f.Info.Min, f.Info.Max = "covenant.ipc", 1, 1, 2
		return f
	}
}

type authFrame struct {
	Kind    string `json:"kind"`
	Display string `json:"display"`
}

type authFailed struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// authenticate binds a session that has no identity yet. One that has keeps it: the answer only says whose the token is.
func authenticate(f *fields) action {
	token := f.text("token_b58")
	return func(ctx context.Context, s *session) any {
		who, err := s.srv.whose(ctx, token)
		if err != nil {
			return fault(err.Error())
		}
		if who == nil {
			return s.srv.turnAway(s.transport, textToken)
		}
		if s.peer.Pubkey == "" {
			s.peer = *who
		}
		return authFrame{"authenticated", who.Display}
	}
}

// whose finds the identity of a live token; nil for none.
func (s *Server) whose(ctx context.Context, token string) (*AgentID, error) {
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

type purgedFrame struct {
	Kind   string `json:"kind"`
	Purged uint64 `json:"purged"`
}

// write bounds how long a write may take to be answered.
func (s *Server) write(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.WriteTimeout)
}

func now() uint64 { return millis(time.Now()) }
