package engine

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// What a namespace knows, or those that a token is bound to. Agents put these answers into prompts, so nothing in them
// may come from another namespace: what cannot be told to be of these alone is left out.

// Bounds of what is counted row by row.
const (
	maxNamed  = 10_000 // memories whose names are read
	traitRows = 1000   // memories that traits are computed from
)

func openConflicts(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(state.Counted(func(f func(oplog.ConflictRow) bool) { v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictOpen}, f) },
		func(x oplog.ConflictRow) bool { return v.ConflictWithin(db, r, &x) }))
}

func pendingTriggers(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(state.Counted(func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) },
		func(t oplog.TriggerRow) bool { return v.Within(db, r, t.Sources) }))
}

// named lists the names in the newest memories within reach, by name. What kind a name is, all memories say together:
// a bound token is not told.
func named(v *state.View, db oplog.DB, r oplog.Reach) []api.Entity {
	by := map[string]*api.Entity{}
	v.NewestWithin(db, r, maxNamed, func(m *oplog.Memory) {
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
		Claims: uint64(state.Counted(func(f func(oplog.StoredClaim) bool) { v.ClaimsBehind(db, "", f) },
			func(c oplog.StoredClaim) bool { return r.Has(c.Namespace) }))}
}

// personalityOf computes the traits that the newest memories within reach show.
func (s *Service) personalityOf(v *state.View, db oplog.DB, r oplog.Reach) oplog.Personality {
	snap := mind.Snapshot{Now: oplog.At(s.now())}
	names := map[string]bool{}
	v.NewestWithin(db, r, traitRows, func(m *oplog.Memory) {
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
		if v.Within(db, r, p.Sources) {
			snap.Patterns = append(snap.Patterns, p)
		}
		return len(snap.Patterns) < state.MaxLook
	})
	snap.Stats.Entities, snap.Stats.OpenConflicts = uint64(len(names)), openConflicts(v, db, r)
	snap.Resolved = state.Counted(func(f func(oplog.ConflictRow) bool) {
		v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictResolved, oplog.ConflictDismissed}, f)
	}, func(x oplog.ConflictRow) bool { return v.ConflictWithin(db, r, &x) })
	return *mind.Traits(&snap)
}
