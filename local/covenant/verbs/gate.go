package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// gate is the capability check of a request. It needs any one of the actions, with a scope that allows the request.
type gate struct {
	label   string   // names the check in audit rows
	actions []string // any one of them is enough
	missing string   // error without a capability; a hint is appended
	allows  func(scope) bool
	reject  string // error if no scope allows the request
}

// requireGate returns an action that runs do if the gate passes.
func requireGate(g gate, do Action) Action {
	return func(ctx context.Context, s *Session) (any, error) {
		if err := s.gate(ctx, g); err != nil {
			return nil, err
		}
		return do(ctx, s)
	}
}

// gate checks the capabilities and records the result. The client gets the error.
func (s *Session) gate(ctx context.Context, g gate) error {
	_, err := s.passingScopes(ctx, g)
	return err
}

// passingScopes does the same as gate, and returns the scopes that allow the request.
func (s *Session) passingScopes(ctx context.Context, g gate) (passed []scope, err error) {
	live, err := s.capabilities(ctx, s.Peer.Pubkey, g.actions)
	if err != nil {
		return nil, err
	}
	check := func(missing []string, authorized []kit.Object) kit.Object {
		return kit.Object{"type", "capability_check", "agent_id", g.label, "required_actions", g.actions, "missing_actions", missing,
			"passed", len(live) > 0, "authorized_by", authorized}
	}
	if len(live) == 0 {
		return nil, s.recordRejection(check(g.actions, []kit.Object{}),
			fmt.Sprintf("%s Grant it with `covenant capabilities grant %s`.", g.missing, g.actions[0]))
	}
	authorized := []kit.Object{}
	for _, c := range live {
		if sc := readScope(c.Scope); g.allows(sc) {
			passed = append(passed, sc)
			authorized = append(authorized,
				kit.Object{"action", c.Action, "granted_by_display", s.Operator.Display, "signature_b58", c.Signature})
		}
	}
	if err := s.record(check([]string{}, authorized[:min(len(authorized), 1)])); err != nil {
		return nil, err
	}
	if len(passed) == 0 {
		return nil, s.recordRejection(kit.Object{"type", "capability_scope_rejected", "agent_id", g.label, "action", live[0].Action,
			"reason", g.reject}, g.reject)
	}
	return passed, nil
}

// capabilities returns the live capabilities of a subject for any of the actions.
func (s *Session) capabilities(ctx context.Context, subject string, actions []string) ([]oplog.StoredGrant, error) {
	a, err := home.Read(ctx, s.Home, "permissions", api.Grants,
		&api.GrantsRequest{Subject: subject, Actions: actions, By: s.Operator.Pubkey, At: home.Now(), Limit: maxCapabilities})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(a.Grants, func(g oplog.StoredGrant) bool { return !home.Signed(g) }), nil
}

// maxCapabilities bounds the capabilities that one check reads.
const maxCapabilities = 64

func (s *Session) record(row kit.Object) error { return s.Home.Record(s.Peer, row) }

// recordRejection records a rejection and returns its error. If the row cannot be written, it returns that error
// instead.
func (s *Session) recordRejection(row kit.Object, message string) error {
	if err := s.record(row); err != nil {
		return err
	}
	return errors.New(message)
}
