package thinking

import (
	"context"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// The tiers, from the shortest to the longest lifetime.
const (
	TierWorking  = "working"
	TierEpisodic = "episodic"
	TierLongterm = "longterm"
)

var promotion = map[string]string{TierWorking: TierEpisodic, TierEpisodic: TierLongterm}

// applyTierPolicy applies the database's policies to a memory. A memory that was recalled often enough moves up a
// tier; a memory that is too old is forgotten.
func (r *round) applyTierPolicy(m *oplog.Memory) {
	next, ok := promotion[m.Tier]
	if !ok || r.q.Namespace != "" || m.Status != oplog.Active || m.Pin || len(r.op.Retier)+len(r.op.Outdated) >= oplog.MaxOps/10 {
		return
	}
	ttl := r.settings.WorkingTTL
	if m.Tier == TierEpisodic {
		ttl = r.settings.EpisodicTTL
	}
	switch {
	case r.settings.PromoteAfter > 0 && m.Accesses >= r.settings.PromoteAfter:
		r.op.Retier = append(r.op.Retier, oplog.Retier{RID: m.RID, From: m.Tier, To: next})
	case ttl > 0 && m.Created+ttl <= r.snap.Now:
		r.op.Outdated = append(r.op.Outdated, oplog.Grounds{RID: m.RID, Revision: m.Revision})
	}
}

// policyRows bounds the newest memories to which one round applies the policies.
const policyRows = 100_000

// applyPolicies applies the policies, if any, to the newest memories of a database that is too large for one round.
func (r *round) applyPolicies(ctx context.Context) error {
	if r.q.Namespace != "" || r.settings.WorkingTTL == 0 && r.settings.EpisodicTTL == 0 && r.settings.PromoteAfter == 0 {
		return nil
	}
	return inSlices(ctx, r, max(r.lastSeq, policyRows)-policyRows+1, (*state.View).Memories,
		func(_ *state.View, m *oplog.Memory) (oplog.Seq, bool) {
			r.applyTierPolicy(m)
			return m.Seq + 1, true
		})
}
