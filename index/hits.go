package index

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
)

// hits reads the memories of the answer, in the order in which the state has them, which is cheaper than a random
// order. If they have no room together, the last ones are left out; left is their number.
func (in *question) hits(ranked []rank.Scored) (found []Hit, left int) {
	hits := make([]Hit, len(ranked))
	order := make([]int, len(ranked))
	for i, s := range ranked {
		order[i] = i
		hits[i] = Hit{Score: s.Score, Why: s.Why, Parts: s.Parts}
	}
	if in.q.Bare {
		for i, s := range ranked {
			c := in.cols.at(s.Row)
			hits[i].Memory = &oplog.Memory{Seq: c.seq, Content: oplog.Content{RID: c.RID.String(), Created: oplog.Time(c.Created)}}
		}
		return hits, 0
	}
	seq := func(i int) oplog.Seq { return in.cols.at(ranked[i].Row).seq }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(seq(a), seq(b)) })
	fit, size := len(hits), 0 // the rows before fit have room, as far as they were read
	for _, i := range order {
		if i >= fit {
			continue
		}
		if m, ok := in.view.MemoryAt(in.db, seq(i)); ok && in.q.Shows(m) {
			hits[i].Memory = m
			size += m.Weight()
		}
		for size > 0 && in.q.Room != nil && !in.q.Room(size) {
			if fit--; hits[fit].Memory != nil {
				size -= hits[fit].Memory.Weight()
				hits[fit].Memory = nil
			}
		}
	}
	return slices.DeleteFunc(hits[:fit], func(h Hit) bool { return h.Memory == nil }), len(hits) - fit
}

// Shows reports whether an answer may have a memory as the state has it. The state may be ahead of the index: a memory
// that was forgotten there, or no longer passes the filter, is not shown.
func (q *Filter) Shows(m *oplog.Memory) bool {
	f := facetOf(m)
	return m.Status != oplog.Tombstoned && m.Indexed() && q.admits(&f) && m.Passes(q.Match) &&
		(q.Admit == nil || q.Admit(Facts{m.Namespace, m.Owner, m.Tier, m.Created}))
}
