package covenant

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A gate is the capabilities that a request needs: any one of some, with a scope that allows the request.
type gate struct {
	label   string   // what the audit calls it
	actions []string // any one is enough
	missing string   // the error without a capability; the hint is added
	allows  func(scope) bool
	reject  string // the error when no scope allows it
}

// gated is an action behind a gate.
func gated(g gate, do action) action {
	return func(ctx context.Context, s *session) (any, error) {
		if err := s.gate(ctx, g); err != nil {
			return nil, err
		}
		return do(ctx, s)
	}
}

// gate checks, and records the check; the client reads its error.
func (s *session) gate(ctx context.Context, g gate) error {
	_, err := s.scopes(ctx, g)
	return err
}

// scopes is gate, and gives the scopes that let the request pass.
func (s *session) scopes(ctx context.Context, g gate) (passed []scope, err error) {
	live, err := s.capabilities(ctx, s.peer.Pubkey, g.actions)
	if err != nil {
		return nil, err
	}
	check := func(missing []string, authorized []kit.Object) kit.Object {
		return kit.Object{"type", "capability_check", "agent_id", g.label, "required_actions", g.actions, "missing_actions", missing,
			"passed", len(live) > 0, "authorized_by", authorized}
	}
	if len(live) == 0 {
		return nil, s.refuse(check(g.actions, []kit.Object{}), fmt.Sprintf("%s Grant it with `covenant capabilities grant %s`.", g.missing, g.actions[0]))
	}
	authorized := []kit.Object{}
	for _, c := range live {
		if sc := readScope(c.Scope); g.allows(sc) {
			passed = append(passed, sc)
			authorized = append(authorized, kit.Object{"action", c.Action, "granted_by_display", s.operator.Display, "signature_b58", c.Signature})
		}
	}
	if err := s.record(check([]string{}, authorized[:min(len(authorized), 1)])); err != nil {
		return nil, err
	}
	if len(passed) == 0 {
		return nil, s.refuse(kit.Object{"type", "capability_scope_rejected", "agent_id", g.label, "action", live[0].Action, "reason", g.reject}, g.reject)
	}
	return passed, nil
}

// capabilities are the live ones of a subject for any of some actions.
func (s *session) capabilities(ctx context.Context, subject string, actions []string) ([]oplog.StoredGrant, error) {
	a, err := read(ctx, s.Home, "permissions", api.Grants,
		&api.GrantsRequest{Subject: subject, Actions: actions, By: s.operator.Pubkey, At: now(), Limit: maxLive})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(a.Grants, func(g oplog.StoredGrant) bool { return !signed(g) }), nil
}

// maxLive bounds how many capabilities one check reads.
const maxLive = 64
