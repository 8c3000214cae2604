package state

import (
	"iter"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// MaxScan bounds the rows that one list or count reads.
const MaxScan = 20_000

// Collect returns up to n wanted rows of a walk, and reads at most MaxScan. more reports whether the walk has further
// rows.
func Collect[T any](n int, walk func(func(T) bool), wanted func(T) bool) (rows []T, more bool) {
	looked := 0
	walk(func(x T) bool {
		if more = len(rows) == n || looked == MaxScan; more {
			return false
		}
		if looked++; wanted(x) {
			rows = append(rows, x)
		}
		return true
	})
	return rows, more
}

// ConflictsWithin counts the conflicts of some statuses within reach, among the first MaxScan.
func (v *View) ConflictsWithin(db oplog.DB, r oplog.Reach, statuses ...oplog.ConflictStatus) int {
	return CountMatching(func(f func(oplog.ConflictRow) bool) { v.Conflicts(db, statuses, f) },
		func(x oplog.ConflictRow) bool { return v.ConflictWithin(db, r, &x) })
}

// CountMatching counts the wanted rows among the first MaxScan rows of a walk.
func CountMatching[T any](walk func(func(T) bool), wanted func(T) bool) (n int) {
	looked := 0
	walk(func(x T) bool {
		if looked++; wanted(x) {
			n++
		}
		return looked < MaxScan
	})
	return n
}

// InPages walks the rows of a database from a key on, at most n in one view, so that a slow caller keeps no view
// open. each handles a row: it returns where the next page begins, how many rows this one counts for, and whether to
// go on. The loop's body runs after each view is closed. An error ends the walk.
func InPages[K, T any](s *State, db oplog.DB, n int, from K, walk func(*View, oplog.DB, K, func(T) bool), each func(*View, T) (K, int, bool)) iter.Seq[error] {
	return func(yield func(error) bool) {
		for more := true; more; {
			err := s.Read(func(v *View) error {
				seen, on := 0, true
				more = false
				walk(v, db, from, func(x T) bool {
					if more = seen >= n; !more {
						var counts int
						from, counts, on = each(v, x)
						seen += counts
					}
					return on && !more
				})
				return nil
			})
			if !yield(err) || err != nil {
				return
			}
		}
	}
}

// Within reports whether all sources are within reach. No sources stand for the whole database.
func (v *View) Within(db oplog.DB, r oplog.Reach, sources []string) bool {
	if r.All() {
		return true
	}
	for _, rid := range sources {
		if m, ok := v.Memory(db, rid); !ok || !r.Has(m.Namespace) {
			return false
		}
	}
	return len(sources) > 0
}

// ConflictWithin reports whether a conflict is within reach. For a token that is bound to namespaces both sides must
// be in them too, so conflicts about relations, which have no namespace, are not.
func (v *View) ConflictWithin(db oplog.DB, r oplog.Reach, x *oplog.ConflictRow) bool {
	if !r.Has(x.Namespace) {
		return false
	}
	for _, side := range []string{x.A, x.B} {
		if !r.Within.Bind() {
			break
		}
		space, there := "", false
		if id, ok := strings.CutPrefix(side, "claim:"); ok {
			var c oplog.StoredClaim
			c, there = v.Claim(db, id)
			space = c.Namespace
		} else if m, ok := v.Memory(db, side); ok {
			space, there = m.Namespace, true
		}
		if !there || !r.Within.Has(space) {
			return false
		}
	}
	return true
}

// NewestWithin walks the memories of each namespace within reach, the newest first, and reads at most most rows. cut
// reports whether there are more.
func (v *View) NewestWithin(db oplog.DB, r oplog.Reach, most int, f func(*oplog.Memory)) (cut bool) {
	v.EachNamespace(db, r, func(namespace string, _ oplog.Counts) bool {
		v.NamespaceBack(db, namespace, 0, func(seq oplog.Seq) bool {
			if cut = most == 0; cut {
				return false
			}
			most--
			if m, ok := v.MemoryAt(db, seq); ok && m.Status == oplog.Active && !m.Unsearchable {
				f(m)
			}
			return true
		})
		return !cut
	})
	return cut
}
