package thinking

import (
	"context"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// The tiers, from the shortest life to the longest.
const (
	TierWorking  = "working"
	TierEpisodic = "episodic"
	TierLongterm = "longterm"
)

var promotion = map[string]string{TierWorking: TierEpisodic, TierEpisodic: TierLongterm}

// tierPolicy applies the database's policies to a memory: one that is recalled often enough goes up a tier, one that is
// too old is forgotten.
func (r *round) tierPolicy(m *oplog.Memory) {
	up, ok := promotion[m.Tier]
	if !ok || r.q.Namespace != "" || m.Status != oplog.Active || m.Pin || len(r.op.Retier)+len(r.op.Outdated) >= oplog.MaxOps/10 {
		return
	}
	ttl := r.set.WorkingTTL
	if m.Tier == TierEpisodic {
		ttl = r.set.EpisodicTTL
	}
	switch {
	case r.set.PromoteAfter > 0 && m.Accesses >= r.set.PromoteAfter:
		r.op.Retier = append(r.op.Retier, oplog.Retier{RID: m.RID, From: m.Tier, To: up})
	case ttl > 0 && m.Created+ttl <= r.snap.Now:
		r.op.Outdated = append(r.op.Outdated, oplog.Grounds{RID: m.RID, Revision: m.Revision})
	}
}

// policyRows bounds the memories that one round holds the policies to, the newest.
const policyRows = 100_000

// policies holds a database that is too large for one round to its policies, where it has any.
func (r *round) policies(ctx context.Context) error {
	if r.q.Namespace != "" || r.set.WorkingTTL == 0 && r.set.EpisodicTTL == 0 && r.set.PromoteAfter == 0 {
		return nil
	}
	return inSlices(ctx, r, max(r.last, policyRows)-policyRows+1, (*state.View).Memories,
		func(_ *state.View, m *oplog.Memory) (oplog.Seq, bool) {
			r.tierPolicy(m)
			return m.Seq + 1, true
		})
}
