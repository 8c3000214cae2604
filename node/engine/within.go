package engine

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/thinking"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// These functions describe one namespace, or the namespaces that a token is bound to. Agents put the answers into
// prompts, so nothing in them may come from another namespace: facts that cannot be attributed to these namespaces
// alone are left out.

// maxNamed bounds the memories whose names are read.
const maxNamed = 10_000

// namesWithin lists the names in the newest memories within reach, by name. The kind of a name comes from all
// memories, so a bound token does not get it. cut reports whether there are older memories.
func namesWithin(v *state.View, db oplog.DB, r oplog.Reach) (list []api.Entity, cut bool) {
	by := map[string]*api.Entity{}
	cut = v.NewestWithin(db, r, maxNamed, func(m *oplog.Memory) {
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
	list = make([]api.Entity, 0, len(by))
	for _, e := range by {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b api.Entity) int { return cmp.Compare(a.Name, b.Name) })
	return list, cut
}

// statsOf counts the rows within reach. Relations and operations belong to no namespace.
func statsOf(v *state.View, db oplog.DB, r oplog.Reach) oplog.Stats {
	if r.All() {
		return v.Stats(db)
	}
	names, _ := namesWithin(v, db, r)
	return oplog.Stats{Counts: v.ReachStats(db, r), Entities: uint64(len(names)), OpenConflicts: thinking.OpenConflicts(v, db, r),
		PendingTriggers: thinking.PendingTriggers(v, db, r),
		Claims: uint64(state.CountMatching(func(f func(oplog.StoredClaim) bool) { v.ClaimsBehind(db, "", f) },
			func(c oplog.StoredClaim) bool { return r.Has(c.Namespace) }))}
}
