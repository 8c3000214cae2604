package engine

import (
	"slices"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// maxDisputed bounds how many open conflicts are told of a row.
const maxDisputed = 8

// disputed tells the open conflicts of each row whose sides stand as they were found, and puts the newer of two rows that contradict each other right before
// the older, with its score. Turns of a session keep their places: what was said first is as much an answer.
func (s *Service) disputed(db oplog.DB, hits []index.Hit) ([]index.Hit, error) {
	at, some := map[string]int{}, false
	err := s.state.Read(func(v *state.View) error {
		if v.Stats(db).OpenConflicts == 0 {
			return nil
		}
		for i := range hits {
			at[hits[i].Memory.RID] = i
		}
		for i := range hits {
			h := &hits[i]
			for other, c := range v.Disputing(db, h.Memory.RID) {
				m, ok := v.Memory(db, other)
				if len(h.Against) == maxDisputed {
					break
				}
				if !ok || m.Status != oplog.Active || max(m.Updated, h.Memory.Updated) > c.Detected {
					continue // one side is gone, or says something else since
				}
				some = true
				h.Against = append(h.Against, other)
				h.Why = append(slices.Clip(h.Why), "contradicts "+other+", which is "+age(h.Memory, m))
			}
		}
		return nil
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
		for _, rid := range h.Against {
			if j, found := at[rid]; found && j > i && h.Memory.Session == "" && hits[j].Memory.Session == "" && hits[j].Memory.Created > h.Memory.Created {
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

// age says how another memory's age compares with a row's.
func age(row, other *oplog.Memory) string {
	switch {
	case other.Created < row.Created:
		return "older"
	case other.Created > row.Created:
		return "newer"
	}
	return "as old"
}
