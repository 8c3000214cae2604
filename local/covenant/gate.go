package covenant

import (
	"context"
	"fmt"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A gate is what a request needs: any one of some capabilities, with a scope that allows it.
type gate struct {
	label   string   // what the audit calls it
	actions []string // any one is enough
	missing string   // the error without a capability; the hint is added
	allows  func(action string, s scope) bool
	reject  string // the error when no scope allows it
}

// gate checks, and records the check; nil lets the request pass.
func (s *session) gate(ctx context.Context, g gate) (refusal any) {
	_, refusal = s.scopes(ctx, g)
	return refusal
}

// scopes is gate, and gives the scopes that let the request pass.
func (s *session) scopes(ctx context.Context, g gate) (passed []scope, refusal any) {
	held, err := s.capabilities(ctx, s.peer.Pubkey, g.actions)
	if err != nil {
		return nil, fault(storeError("permissions", err).Error())
	}
	row := capabilityCheck{Type: "capability_check", Agent: g.label, Required: g.actions, Missing: []string{}, Passed: len(held) > 0, Authorized: []authorized{}}
	if !row.Passed {
		row.Missing = g.actions
		return nil, s.refuse(row, fmt.Sprintf("%s Grant it with `covenant capabilities grant %s`.", g.missing, g.actions[0]))
	}
	for _, c := range held {
		if sc := readScope(c.Scope); g.allows == nil || g.allows(c.Action, sc) {
			passed = append(passed, sc)
			row.Authorized = append(row.Authorized, authorized{c.Action, s.srv.operator.Display, c.Signature})
		}
	}
	row.Authorized = row.Authorized[:min(len(row.Authorized), 1)]
	if s.srv.record(s.peer, row) != nil {
		return nil, fault(textAudit)
	}
	if len(passed) == 0 {
		return nil, s.refuse(capabilityScopeRejected{"capability_scope_rejected", g.label, held[0].Action, g.reject}, g.reject)
	}
	return passed, nil
}

// capabilities are the live ones of a subject for any of some actions.
func (s *session) capabilities(ctx context.Context, subject string, actions []string) (held []oplog.StoredGrant, err error) {
	at := now()
	err = s.srv.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		for _, a := range actions {
			v.GrantsFor(db, subject, a, func(g oplog.StoredGrant) bool {
				if s.srv.holds(g, at) {
					held = append(held, g)
				}
				return len(held) < maxHeld
			})
		}
		return nil
	})
	return held, err
}

// maxHeld bounds how many capabilities for one action are looked at.
const maxHeld = 64

// cutoffGate is that of the purges whose scope knows a time alone.
func cutoffGate(what string, before uint64) gate {
	return gate{
		label: what + ":purge", actions: []string{what + ".purge"},
		missing: fmt.Sprintf(`%s purge requires capability "%s.purge".`, what, what),
		allows:  func(_ string, s scope) bool { return s.cutoff(before) },
		reject:  what + " purge rejected by capability scope: before_ms does not match capability scope",
	}
}
