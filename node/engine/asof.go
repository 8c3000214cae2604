package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of a recall as of an earlier time.
const (
	pastDepth = 200           // rows of today's answer that are looked at
	pastRows  = state.MaxScan // rows that have changed since
)

// searchAsOf returns the memories of an earlier time: texts as they were before later corrections, and memories that
// were merged or forgotten since. The index finds memories that have not changed; changed ones are compared by their
// words.
func (s *Service) searchAsOf(ctx context.Context, c api.Caller, q index.Query, at time.Time) (Answer, error) {
	k, then, least := q.K, oplog.At(at), q.MinScore
	q.MinScore = 0 // applied below: the index scores the texts of today
	if k <= 0 || k > index.MaxK {
		return Answer{}, oplog.Errorf(oplog.Invalid, "top_k is %d: want 1 to %d", k, index.MaxK)
	}
	q.K, q.Consolidated, q.Bare = max(k, pastDepth), true, true
	q.Now = at // yesterday is the day before
	if q.Until == 0 || q.Until > then {
		q.Until = then
	}
	c.Quiet = true // a recall of the past reinforces nothing
	a, err := s.search(ctx, c, q)
	if err != nil {
		return a, err
	}
	hits, cut, err := s.hitsAsOf(ctx, c.DB, &q, then, a.Hits)
	if err != nil {
		return a, err
	}
	slices.SortFunc(hits, func(x, y index.Hit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(y.Memory.Created, x.Memory.Created),
			cmp.Compare(x.Memory.RID, y.Memory.RID))
	})
	if !q.Lists() {
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return h.Score <= 0 })
		matched := len(hits)
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return h.Score < least })
		a.Info.Below = matched - len(hits)
	}
	if cut {
		a.Bounded = api.Cut(pastRows, "memories that have changed since", "ask as of a later time")
	}
	a.Hits, a.Info.Cut, err = s.readAsOf(c, then, hits[:min(len(hits), k)])
	return a, err
}

// hitsAsOf returns the outlines of today's hits as they were then, and of memories that have changed since. It compares
// texts that were other ones then with the question's words. cut reports whether more have changed than it looks at.
func (s *Service) hitsAsOf(ctx context.Context, db oplog.DB, q *index.Query, then oplog.Time, today []index.Hit) (hits []index.Hit, cut bool, err error) {
	seen, words := map[oplog.Seq]bool{}, mind.Words(index.Question(q.Text))
	compare := func(h *index.Hit, text string) {
		h.Score, h.Why = mind.Share(words, mind.Words(text)), []string{"as believed then"}
	}
	err = s.state.Read(func(v *state.View) error {
		for _, h := range today {
			m, ok := v.MemoryAt(db, h.Memory.Seq)
			if seen[h.Memory.Seq] = true; !ok || !q.Spaces.Has(m.Namespace) {
				continue
			}
			was, ok := v.AsOf(db, m, then)
			if !ok || !q.Reach().Has(was.Namespace) || !was.Passes(q.Match) {
				continue
			}
			if was.Text != m.Text {
				compare(&h, was.Text)
			}
			h.Memory = outline(was)
			hits = append(hits, h)
		}
		looked := 0
		v.Past(db, then, func(m *oplog.Memory) bool {
			if looked++; looked > pastRows || ctx.Err() != nil {
				cut = true
				return false
			}
			// what was moved out of the caller's namespaces since is no longer the caller's
			if was, ok := v.AsOf(db, m, then); ok && !seen[m.Seq] && was.Text != "" && selects(&q.Filter, was) &&
				q.Spaces.Has(m.Namespace) {
				h := index.Hit{Memory: outline(was)}
				compare(&h, was.Text)
				hits = append(hits, h)
			}
			seen[m.Seq] = true
			return true
		})
		return ctx.Err()
	})
	return hits, cut, err
}

// readAsOf reads the memories of outlines as they were, as many as the budget allows. left counts the others.
func (s *Service) readAsOf(c api.Caller, then oplog.Time, outlines []index.Hit) (hits []index.Hit, left int, err error) {
	r := byteBudget{hold: c.Hold}
	err = s.state.Read(func(v *state.View) error {
		for i, h := range outlines {
			m, ok := v.MemoryAt(c.DB, h.Memory.Seq)
			if !ok || !c.Spaces.Has(m.Namespace) {
				continue
			}
			if h.Memory, ok = v.AsOf(c.DB, m, then); !ok { // erased meanwhile
				continue
			}
			if !r.reserve(h.Memory.Weight()) {
				left = len(outlines) - i
				break
			}
			hits = append(hits, h)
		}
		return nil
	})
	return hits, left, err
}
