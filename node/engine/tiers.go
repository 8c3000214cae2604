package engine

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
func (t *thinker) tierPolicy(m *oplog.Memory) {
	up, ok := promotion[m.Tier]
	if !ok || t.r.Namespace != "" || m.Status != oplog.Active || m.Pin || len(t.op.Retier)+len(t.op.Outdated) >= oplog.MaxOps/10 {
		return
	}
	ttl := t.set.WorkingTTL
	if m.Tier == TierEpisodic {
		ttl = t.set.EpisodicTTL
	}
	switch {
	case t.set.PromoteAfter > 0 && m.Accesses >= t.set.PromoteAfter:
		t.op.Retier = append(t.op.Retier, oplog.Retier{RID: m.RID, From: m.Tier, To: up})
	case ttl > 0 && m.Created+ttl <= t.snap.Now:
		t.op.Outdated = append(t.op.Outdated, oplog.Grounds{RID: m.RID, Revision: m.Revision})
	}
}

// policyRows bounds the memories that one round holds the policies to, the newest.
const policyRows = 100_000

// policies holds a database that is too large for one round to its policies, where it has any.
func (t *thinker) policies(ctx context.Context) error {
	if t.r.Namespace != "" || t.set.WorkingTTL == 0 && t.set.EpisodicTTL == 0 && t.set.PromoteAfter == 0 {
		return nil
	}
	return inSlices(ctx, t, max(t.last, policyRows)-policyRows+1, (*state.View).Memories, func(_ *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		t.tierPolicy(m)
		return m.Seq + 1, true
	})
}
