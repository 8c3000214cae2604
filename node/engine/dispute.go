package engine

import (
	"slices"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// maxDisputed bounds the open conflicts that are listed with a row.
const maxDisputed = 8

// markConflicts adds to each row its open conflicts whose sides have not changed. If two rows contradict each other,
// it puts the newer one right before the older one, with its score. Turns of a session keep their positions: the
// earlier one is an answer too. A memory with a lower class of trust than the older one keeps its position as well. The
// rows of a bare answer get the fields that decide this.
func (s *Service) markConflicts(c api.Caller, q *index.Query, hits []index.Hit) ([]index.Hit, error) {
	at, some := map[string]int{}, false
	err := s.state.Inspect(func(v *state.View) {
		if v.Stats(c.DB).OpenConflicts == 0 {
			return
		}
		for i := range hits {
			h := &hits[i]
			if m, ok := v.MemoryAt(c.DB, h.Memory.Seq); ok && q.Bare {
				h.Memory, h.Corrected = outline(m), v.Corrected(c.DB, m)
			}
			at[h.Memory.RID] = i
		}
		for i := range hits {
			h := &hits[i]
			for other, conflict := range v.OpenConflictsOf(c.DB, h.Memory.RID) {
				m, ok := v.Memory(c.DB, other)
				if len(h.Against) == maxDisputed {
					break
				}
				if !ok || !c.Spaces.Has(m.Namespace) || m.Status != oplog.Active || max(m.Updated, h.Memory.Updated) > conflict.Detected {
					continue // one side is gone, or says something else since
				}
				some = true
				told := index.Against{RID: other, Seq: m.Seq, Age: age(statedAt(h), max(m.Created, v.Corrected(c.DB, m)))}
				h.Against = append(h.Against, told)
				h.Why = append(slices.Clip(h.Why), prompt.Contradicts(other, told.Age))
			}
		}
	})
	if err != nil || !some {
		return hits, err
	}
	told, done := make([]index.Hit, 0, len(hits)), make([]bool, len(hits))
	tell := func(i int, score float64) {
		if !done[i] {
			done[i], hits[i].Score = true, score
			told = append(told, hits[i])
		}
	}
	for i, h := range hits {
		var newer []int
		for _, a := range h.Against {
			j, found := at[a.RID]
			if !found || j < i {
				continue
			}
			if m := hits[j].Memory; h.Memory.Session == "" && m.Session == "" && statedAt(&hits[j]) > statedAt(&h) &&
				oplog.TrustBelow(m.Trust, h.Memory.Trust) == 0 {
				newer = append(newer, j)
			}
		}
		slices.Sort(newer)
		for _, j := range newer {
			tell(j, h.Score)
		}
		tell(i, h.Score)
	}
	return told, nil
}

// age compares another memory's age with a row's.
func age(mine, its oplog.Time) string {
	switch {
	case its < mine:
		return "older"
	case its > mine:
		return "newer"
	}
	return "as old"
}

// longestChain bounds how many successive supersessions are followed.
const longestChain = 16

// latestSuccessor follows the supersessions of a memory to the current one; it returns nil if the memory itself is
// current.
func latestSuccessor(v *state.View, db oplog.DB, m *oplog.Memory) *oplog.Memory {
	var last *oplog.Memory
	by := m.By
	for range longestChain {
		if by == "" {
			break
		}
		next, ok := v.Memory(db, by)
		if !ok || next.Status == oplog.Tombstoned || next.Seq == m.Seq {
			break
		}
		if by = next.Into; by == "" { // it was merged into another
			last, by = next, next.By
		}
	}
	return last
}

// preferSuccessors puts the current memory before each that it superseded, even if the search did not find it, and
// marks the superseded ones. It leaves out a memory that was surely superseded if its successor is in the list,
// unless the request asks for all. The list ends where its memories have no room together; left counts the hits behind.
func (s *Service) preferSuccessors(c api.Caller, q *index.Query, hits []index.Hit, all bool) (told []index.Hit, left int, err error) {
	if now, err := s.state.Current(c.DB); err != nil || now.Stats.Superseded == 0 {
		return hits, 0, err
	}
	l := currentFirst{q: q, hits: hits, all: all, at: map[oplog.Seq]int{}, done: map[oplog.Seq]bool{}, room: byteBudget{hold: c.Hold}}
	for i := range hits {
		l.at[hits[i].Memory.Seq] = i
	}
	err = s.state.Inspect(func(v *state.View) {
		for i := range hits {
			if len(l.told) >= q.K {
				break
			}
			if l.place(v, c.DB, hits[i]); l.room.full {
				left = len(hits) - i
				break
			}
		}
	})
	return l.told[:min(len(l.told), q.K)], left, err
}

// currentFirst is a list of hits in which current memories come before those that they superseded.
type currentFirst struct {
	q    *index.Query
	hits []index.Hit
	all  bool              // also those that were surely superseded
	at   map[oplog.Seq]int // positions of hits
	done map[oplog.Seq]bool
	told []index.Hit
	room byteBudget
}

func (l *currentFirst) tell(h index.Hit) {
	if !l.done[h.Memory.Seq] && (l.q.Bare || l.room.reserve(h.Memory.Weight())) {
		l.done[h.Memory.Seq] = true
		l.told = append(l.told, h)
	}
}

// place adds a hit to the list, behind the current memory that superseded it.
func (l *currentFirst) place(v *state.View, db oplog.DB, h index.Hit) {
	m, ok := v.MemoryAt(db, h.Memory.Seq)
	if !ok || m.By == "" {
		l.tell(h)
		return
	}
	by := latestSuccessor(v, db, m)
	if by == nil {
		l.tell(h)
		return
	}
	first := index.Hit{Memory: by, Parts: h.Parts}
	j, found := l.at[by.Seq]
	switch {
	case found:
		first = l.hits[j]
		first.Score = max(first.Score, h.Score)
	case l.q.Bare:
		first.Memory = &oplog.Memory{Seq: by.Seq, Content: oplog.Content{RID: by.RID, Created: by.Created}}
		fallthrough
	default:
		first.Score, first.Why = h.Score, []string{"supersedes " + m.RID}
	}
	if found || passes(&l.q.Filter, by) {
		l.tell(first)
	}
	if l.done[by.Seq] && m.Surely && !l.all {
		l.done[m.Seq] = true
		return
	}
	h.By = index.Against{RID: by.RID, Seq: by.Seq, Age: "newer"}
	h.Why = append(slices.Clip(h.Why), prompt.SupersededBy(by.RID))
	l.tell(h)
}

// passes reports whether a memory passes a question's filter.
func passes(f *index.Filter, m *oplog.Memory) bool {
	return m.Status == oplog.Active && selects(f, m) && f.Private == "" &&
		(f.Admit == nil || f.Admit(index.Facts{Namespace: m.Namespace, Owner: m.Owner, Tier: m.Tier, Created: m.Created}))
}

// selects compares the fields of a memory with the fields in a filter.
func selects(f *index.Filter, m *oplog.Memory) bool {
	return !m.Unsearchable && (len(f.Types) == 0 || slices.Contains(f.Types, m.Type)) && f.Reach().Has(m.Namespace) &&
		(f.Domain == "" || f.Domain == m.Domain) && (f.Source == "" || f.Source == m.Source) &&
		(f.Session == "" || f.Session == m.Session) &&
		(f.Tier == "" || f.Tier == m.Tier) && (f.Owner == "" || f.Owner == m.Owner) && (f.Since == 0 || m.Created >= f.Since) &&
		(f.Until == 0 || m.Created <= f.Until) &&
		m.Passes(f.Match)
}
