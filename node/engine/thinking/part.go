package thinking

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A round reads only a part of a database with more memories than a round may read: unread memories, and a range of
// all memories, which the next round continues. For each of these it also reads its partners: memories that it may
// contradict or repeat. A bounded number of lookups by names and words finds them.

// Bounds of a part.
const (
	newestRows     = 1000 // memories from which patterns and traits are computed
	partnerPage    = 10   // memories between two checks of the round's time and size
	partnerNames   = 8    // names that are looked up for a memory
	partnersByName = 16   // newest memories that are read for each name
	partnersByWord = 16   // best matches by words
	partnerRows    = 2048 // words in more memories are ignored
	partnerText    = 600  // bytes of a memory's text that are searched for
)

// gatherPart reads new memories with their partners, then a range of all memories with theirs.
func (r *round) gatherPart(ctx context.Context) error {
	maxRows := r.th.cfg.Rows
	if err := r.applyPolicies(ctx); err != nil {
		return err
	}
	if err := r.gatherNewest(ctx, min(newestRows, maxRows/10+1)); err != nil {
		return err
	}
	if r.q.Conflicts {
		if err := r.gatherUnread(ctx, maxRows/2+1); err != nil {
			return err
		}
	}
	if r.q.Limit > 0 && (len(r.seeds) == 0 || !r.full(maxRows)) {
		next, err := r.gatherWithPartners(ctx, r.progress.Cursor, r.q.Limit, maxRows, r.walkScope)
		if err != nil {
			return err
		}
		r.op.Cursor = max(next, 1)
	}
	slices.SortFunc(r.snap.Rows, func(a, b mind.Row) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := range r.snap.Rows {
		r.rowOf[r.snap.Rows[i].Seq] = i
	}
	return nil
}

// gatherNewest reads the newest memories, and those with feedback.
func (r *round) gatherNewest(ctx context.Context, limit int) error {
	from := max(r.lastSeq, oplog.Seq(limit)) - oplog.Seq(limit) + 1
	if err := r.th.cfg.State.Read(func(v *state.View) error {
		if r.q.Namespace != "" {
			n := 0
			v.NamespaceBack(r.c.DB, r.q.Namespace, 0, func(seq oplog.Seq) bool {
				from, n = seq, n+1
				return n < limit
			})
		}
		for _, j := range r.snap.Judgements[:min(len(r.snap.Judgements), mind.MaxLearn)] {
			if m, ok := v.Memory(r.c.DB, j.RID); ok {
				r.addRow(v, m)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return inSlices(ctx, r, from, r.walkScope, func(v *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		r.addRow(v, m)
		return m.Seq + 1, true
	})
}

// gatherUnread reads first the memories that changed after a round read them, and then those that no round has read,
// oldest first.
func (r *round) gatherUnread(ctx context.Context, maxRows int) error {
	if _, err := r.gatherWithPartners(ctx, 0, partsPerEntry, maxRows, func(v *state.View, db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
		v.Reread(db, from, func(m *oplog.Memory) bool {
			if !r.inScope(m) {
				return true
			}
			g := oplog.Grounds{RID: m.RID, Revision: m.Revision}
			if i, exists := r.rowOf[m.Seq]; exists {
				g.Revision = r.snap.Rows[i].Revision // the revision in the snapshot may be older
			}
			r.op.Reread = append(r.op.Reread, g)
			return f(m)
		})
	}); err != nil {
		return err
	}
	next, err := r.gatherWithPartners(ctx, r.progress.Read+1, maxRows, maxRows, r.walkScope)
	if r.op.Read = next - 1; next == 0 { // everything is read
		r.op.Read = r.lastSeq
	}
	return err
}

// full reports whether the round has reached its size or its deadline.
func (r *round) full(maxRows int) bool {
	return len(r.snap.Rows) >= maxRows || time.Now().After(r.deadline)
}

// gatherWithPartners reads memories from a number on, each with its partners, until the round is full. It always
// reads at least one page, so that every round makes progress. It returns the number to continue from, or 0 at the
// end.
func (r *round) gatherWithPartners(ctx context.Context, from oplog.Seq, limit, maxRows int, walk func(*state.View, oplog.DB, oplog.Seq, func(*oplog.Memory) bool)) (next oplog.Seq, err error) {
	for n := 0; n < limit; n += partnerPage {
		visited, page := 0, []int(nil)
		if err := r.th.cfg.State.Read(func(v *state.View) error {
			walk(v, r.c.DB, from, func(m *oplog.Memory) bool {
				from, visited = m.Seq+1, visited+1
				if place, ok := r.addRow(v, m); ok {
					page = append(page, place)
				}
				return visited < partnerPage
			})
			return nil
		}); err != nil {
			return 0, err
		}
		for _, place := range page {
			r.seeds = append(r.seeds, r.snap.Rows[place].Seq)
			if err := r.addPartners(ctx, r.snap.Rows[place]); err != nil {
				return 0, err
			}
			r.snap.Yield()
		}
		if visited < partnerPage {
			return 0, nil
		}
		if r.full(maxRows) {
			break
		}
	}
	return from, nil
}

// addPartners adds the memories of the same namespace that a memory may contradict or repeat.
func (r *round) addPartners(ctx context.Context, row mind.Row) error {
	if row.Merged {
		return nil
	}
	text := strings.ToValidUTF8(row.Text[:min(len(row.Text), partnerText)], "")
	hits, _, err := r.th.cfg.Index.Search(ctx, r.c.DB,
		index.Query{Text: text, K: partnersByWord, MaxDF: partnerRows, Now: r.snap.Now.Time(), Without: rank.Switches(), Bare: true,
			Filter: index.Filter{Namespace: row.Namespace, Spaces: r.c.Spaces}})
	if err != nil {
		return err
	}
	return r.th.cfg.State.Read(func(v *state.View) error {
		for _, h := range hits {
			if m, ok := v.MemoryAt(r.c.DB, h.Memory.Seq); ok {
				r.addRow(v, m)
			}
		}
		for _, name := range row.Entities[:min(len(row.Entities), partnerNames)] {
			visited := 0
			v.EntityMemories(r.c.DB, name, func(m *oplog.Memory) bool {
				if visited++; m.Namespace == row.Namespace {
					r.addRow(v, m)
				}
				return visited < partnersByName
			})
		}
		return nil
	})
}
