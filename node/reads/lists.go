package reads

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// tierOf returns a memory's tier. A memory without one counts as longterm.
func tierOf(m *oplog.Memory) string { return cmp.Or(m.Tier, "longterm") }

// listed reports whether a list of a namespace and a tier contains a memory.
func listed(m *oplog.Memory, namespace, tier string) bool {
	return m.Status == oplog.Active && (namespace == "" || m.Namespace == namespace) && (tier == "" || tierOf(m) == tier)
}

// collector returns a visitor that collects up to n memories for which want returns true, among the first look that
// it visits; look 0 means no bound.
func collector(into *[]*oplog.Memory, n, look int, want func(*oplog.Memory) bool) func(*oplog.Memory) bool {
	looked := 0
	return func(m *oplog.Memory) bool {
		if want(m) {
			*into = append(*into, m)
		}
		looked++
		return len(*into) < n && looked != look
	}
}

func recent(v dbView, q *api.RecentRequest) *api.RecentMemories {
	a, looked := &api.RecentMemories{}, 0
	more := collector(&a.Memories, q.Limit, q.Look, func(m *oplog.Memory) bool { return listed(m, q.Namespace, q.Tier) })
	v.Recent(v.db, state.TimePosition{At: q.Before}, func(m *oplog.Memory) bool {
		if q.Bare { // many memories with their texts would take too much memory
			c := oplog.Content{RID: m.RID, Namespace: m.Namespace, Tier: m.Tier}
			m = &oplog.Memory{Content: c, Past: oplog.Past{Status: m.Status}}
		}
		looked++
		return more(m)
	})
	a.Cut = looked == q.Look && len(a.Memories) < q.Limit
	return a
}

func lookUp(v dbView, q *api.LookUpRequest) *api.LookedUp {
	a, entities := &api.LookedUp{}, []string{}
	for _, e := range q.Entities {
		entities = append(entities, v.ResolveName(v.db, "default", e)...)
	}
	if m, ok := v.Memory(v.db, q.RID); ok && !m.Unlisted() {
		a.Memory, entities = m, slices.Concat(entities, m.Entities)
		other := func(o *oplog.Memory) bool { return o.RID != m.RID && listed(o, m.Namespace, "") }
		if q.Window > 0 {
			v.Recent(v.db, state.TimePosition{At: m.Created, Seq: m.Seq}, collector(&a.Before, q.Window, q.Look, other))
			v.Between(v.db, state.TimePosition{At: m.Created, Seq: m.Seq + 1}, oplog.LastTime+1,
				collector(&a.After, q.Window, q.Look, other))
		}
	}
	slices.Reverse(a.Before)
	seen := map[string]bool{} // a relation between two of the entities is listed once
	for _, name := range entities {
		for _, e := range v.Edges(v.db, name, q.Edges) {
			if !seen[e.ID] {
				a.Edges, seen[e.ID] = append(a.Edges, e), true
			}
		}
	}
	return a
}

func tiers(v dbView, q *api.TiersRequest) *api.TierCounts {
	a := &api.TierCounts{Tiers: map[string]int{}, Stats: v.Stats(v.db), Index: v.Index()}
	looked := 0
	v.Memories(v.db, 1, func(m *oplog.Memory) bool {
		if listed(m, q.Namespace, "") {
			a.Tiers[tierOf(m)]++
			a.Bytes += len(m.Text) + len(m.Metadata)
		}
		looked++
		return looked < q.Look
	})
	return a
}
