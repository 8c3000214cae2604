package engine

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// What a namespace knows. Agents put these answers into prompts, so nothing in them may come from another namespace:
// what cannot be told to be of this one alone is left out.

// Bounds of what is counted row by row.
const (
	maxCounted = 20_000
	maxNamed   = 10_000 // memories whose names are read
	traitRows  = 1000   // memories that traits are computed from
)

// within says whether all memories that something is about are of a namespace. What names no memory is about the whole
// database, and within none; a blank namespace is the whole database.
func within(v *state.View, db oplog.DB, namespace string, sources []string) bool {
	if namespace == "" {
		return true
	}
	for _, rid := range sources {
		if m, ok := v.Memory(db, rid); !ok || m.Namespace != namespace {
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

func openConflicts(v *state.View, db oplog.DB, namespace string) uint64 {
	return uint64(counted(func(f func(oplog.ConflictRow) bool) { v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictOpen}, f) },
		func(x oplog.ConflictRow) bool { return x.Namespace == namespace }))
}

func pendingTriggers(v *state.View, db oplog.DB, namespace string) uint64 {
	return uint64(counted(func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) },
		func(t oplog.TriggerRow) bool { return within(v, db, namespace, t.Sources) }))
}

// newestOfAll walks the newest memories of a namespace, the newest first.
func newestOfAll(v *state.View, db oplog.DB, namespace string, most int, f func(*oplog.Memory)) {
	v.NamespaceBack(db, namespace, 0, func(seq oplog.Seq) bool {
		if m, ok := v.MemoryAt(db, seq); ok && m.Status == oplog.Active {
			f(m)
		}
		most--
		return most > 0
	})
}

// named lists the names in a namespace's newest memories, by name.
func named(v *state.View, db oplog.DB, namespace string) []api.Entity {
	by := map[string]*api.Entity{}
	newestOfAll(v, db, namespace, maxNamed, func(m *oplog.Memory) {
		for _, name := range m.Entities {
			e := by[name]
			if e == nil {
				known, _ := v.Entity(db, name)
				e = &api.Entity{Name: name, Type: known.Type}
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

// statsOf counts what belongs to a namespace. Relations and operations belong to none.
func statsOf(v *state.View, db oplog.DB, namespace string) oplog.Stats {
	return oplog.Stats{Counts: v.NamespaceStats(db, namespace), Entities: uint64(len(named(v, db, namespace))), OpenConflicts: openConflicts(v, db, namespace),
		PendingTriggers: pendingTriggers(v, db, namespace),
		Claims: uint64(counted(func(f func(oplog.StoredClaim) bool) { v.ClaimsBehind(db, "", f) },
			func(c oplog.StoredClaim) bool { return c.Namespace == namespace }))}
}

// personalityOf computes the traits of a namespace from its newest memories.
func (s *Service) personalityOf(v *state.View, db oplog.DB, namespace string) oplog.Personality {
	snap := mind.Snapshot{Now: oplog.At(s.now())}
	names := map[string]bool{}
	newestOfAll(v, db, namespace, traitRows, func(m *oplog.Memory) {
		snap.Rows = append(snap.Rows, mind.Row{RID: m.RID, Domain: m.Domain, Created: m.Created, Valence: m.Valence})
		for _, name := range m.Entities {
			names[name] = true
		}
	})
	slices.Reverse(snap.Rows)
	v.Patterns(db, func(p oplog.Pattern) bool {
		if within(v, db, namespace, p.Sources) {
			snap.Patterns = append(snap.Patterns, p)
		}
		return len(snap.Patterns) < maxCounted
	})
	snap.Stats.Entities, snap.Stats.OpenConflicts = uint64(len(names)), openConflicts(v, db, namespace)
	snap.Resolved = counted(func(f func(oplog.ConflictRow) bool) {
		v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictResolved, oplog.ConflictDismissed}, f)
	}, func(x oplog.ConflictRow) bool { return x.Namespace == namespace })
	return *mind.Traits(&snap)
}
