package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// What a namespace knows, or those that a token is bound to. Agents put these answers into prompts, so nothing in them
// may come from another namespace: what cannot be told to be of these alone is left out.

// Bounds of what is counted row by row.
const (
	maxCounted = 20_000
	maxNamed   = 10_000 // memories whose names are read
	traitRows  = 1000   // memories that traits are computed from
)

// within says whether all memories that something is about are within reach. What names no memory is about the whole
// database.
func within(v *state.View, db oplog.DB, r oplog.Reach, sources []string) bool {
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

// counted counts the wanted rows of a walk, of the first maxCounted.
func counted[T any](walk func(func(T) bool), wanted func(T) bool) (n int) {
	looked := 0
	walk(func(x T) bool {
		if looked++; wanted(x) {
			n++
		}
		return looked < maxCounted
	})
	return n
}

// conflictWithin says whether a contradiction is within reach. For a token that is bound to namespaces both sides are,
// too: a relation belongs to none.
func conflictWithin(v *state.View, db oplog.DB, r oplog.Reach, x *oplog.ConflictRow) bool {
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

func openConflicts(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(counted(func(f func(oplog.ConflictRow) bool) { v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictOpen}, f) },
		func(x oplog.ConflictRow) bool { return conflictWithin(v, db, r, &x) }))
}

func pendingTriggers(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(counted(func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) },
		func(t oplog.TriggerRow) bool { return within(v, db, r, t.Sources) }))
}

// newestOfAll walks the newest memories of each namespace within reach, the newest first, until it has looked at the
// most.
func newestOfAll(v *state.View, db oplog.DB, r oplog.Reach, most int, f func(*oplog.Memory)) {
	v.EachNamespace(db, r, func(namespace string, _ oplog.Counts) bool {
		v.NamespaceBack(db, namespace, 0, func(seq oplog.Seq) bool {
			if m, ok := v.MemoryAt(db, seq); ok && m.Status == oplog.Active && !m.Unsearchable {
				f(m)
			}
			most--
			return most > 0
		})
		return most > 0
	})
}

// named lists the names in the newest memories within reach, by name. What kind a name is, all memories say together:
// a bound token is not told.
func named(v *state.View, db oplog.DB, r oplog.Reach) []api.Entity {
	by := map[string]*api.Entity{}
	newestOfAll(v, db, r, maxNamed, func(m *oplog.Memory) {
		for _, name := range m.Entities {
			e := by[name]
			if e == nil {
				e = &api.Entity{Name: name}
				if known, _ := v.Entity(db, name); !r.Within.Bind() {
					e.Type = known.Type
				}
				by[name] = e
			}
			e.Mentions++
			e.Last = max(e.Last, m.Created.Seconds())
		}
	})
	list := make([]api.Entity, 0, len(by))
	for _, e := range by {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b api.Entity) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// statsOf counts what is within reach. Relations and operations belong to no namespace.
func statsOf(v *state.View, db oplog.DB, r oplog.Reach) oplog.Stats {
	if r.All() {
		return v.Stats(db)
	}
	return oplog.Stats{Counts: v.ReachStats(db, r), Entities: uint64(len(named(v, db, r))), OpenConflicts: openConflicts(v, db, r),
		PendingTriggers: pendingTriggers(v, db, r),
		Claims: uint64(counted(func(f func(oplog.StoredClaim) bool) { v.ClaimsBehind(db, "", f) },
			func(c oplog.StoredClaim) bool { return r.Has(c.Namespace) }))}
}

// personalityOf computes the traits that the newest memories within reach show.
func (s *Service) personalityOf(v *state.View, db oplog.DB, r oplog.Reach) oplog.Personality {
	snap := mind.Snapshot{Now: oplog.At(s.now())}
	names := map[string]bool{}
	newestOfAll(v, db, r, traitRows, func(m *oplog.Memory) {
		snap.Rows = append(snap.Rows, mind.Row{RID: m.RID, Domain: m.Domain, Created: m.Created, Valence: m.Valence})
		for _, name := range m.Entities {
			names[name] = true
		}
	})
	slices.Reverse(snap.Rows)
	if r.Name == "" { // they came namespace by namespace
		slices.SortStableFunc(snap.Rows, func(a, b mind.Row) int { return cmp.Compare(a.Created, b.Created) })
	}
	v.Patterns(db, func(p oplog.Pattern) bool {
		if within(v, db, r, p.Sources) {
			snap.Patterns = append(snap.Patterns, p)
		}
		return len(snap.Patterns) < maxCounted
	})
	snap.Stats.Entities, snap.Stats.OpenConflicts = uint64(len(names)), openConflicts(v, db, r)
	snap.Resolved = counted(func(f func(oplog.ConflictRow) bool) {
		v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictResolved, oplog.ConflictDismissed}, f)
	}, func(x oplog.ConflictRow) bool { return conflictWithin(v, db, r, &x) })
	return *mind.Traits(&snap)
}
