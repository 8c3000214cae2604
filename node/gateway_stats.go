package node

import (
	"github.com/cairndb/cairn/oplog"
)

// The eight counters are for clients that take the object for a record's arguments: none may be added that was not asked for.
var statsRoutes = []route{
	{name: "stats", method: "GET", path: "/v1/stats", scope: Read, handle: httpStats, summary: "A database's counters; with namespace those of memories are the namespace's. More with verbose=1",
		query: "verbose:boolean namespace:string",
		result: "active_memories:integer! consolidated_memories:integer! tombstoned_memories:integer! edges:integer! entities:integer! operations:integer! open_conflicts:integer! " +
			"pending_triggers:integer! archived_memories:integer resolved_conflicts:integer active_patterns:integer scoring_cache_entries:integer vec_index_entries:integer " +
			"claims:integer applied_index:integer indexed_index:integer"},
}

func httpStats(g *gateway, q *request) (any, error) {
	var st oplog.Stats
	var named oplog.NamespaceStats
	var resolved, patterns int
	ns, verbose := q.param("namespace"), q.on("verbose")
	err := g.s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		st = v.Stats(q.c.DB)
		named = oplog.NamespaceStats{Active: st.Active, Consolidated: st.Consolidated, Tombstoned: st.Tombstoned}
		if ns != "" {
			named = v.NamespaceStats(q.c.DB, ns)
		}
		if verbose {
			resolved, patterns = settledConflicts(v, q.c.DB), seenPatterns(v, q.c.DB)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := map[string]any{"active_memories": named.Active, "consolidated_memories": named.Consolidated, "tombstoned_memories": named.Tombstoned, "edges": st.Edges,
		"entities": st.Entities, "operations": st.Operations, "open_conflicts": st.OpenConflicts, "pending_triggers": st.PendingTriggers}
	if verbose {
		size := g.s.index.Size(q.c.DB)
		r["archived_memories"], r["resolved_conflicts"], r["active_patterns"] = 0, resolved, patterns // no memory is archived here: all of them are searched
		r["scoring_cache_entries"], r["vec_index_entries"] = size.Rows, size.Vectors
		r["claims"], r["applied_index"], r["indexed_index"] = st.Claims, g.s.machine.applied.get(), g.s.machine.indexed.get()
	}
	return r, nil
}

// maxCounted bounds what is counted one by one for those who want to know more.
const maxCounted = 10_000

func settledConflicts(v *oplog.View, db oplog.DB) (n int) {
	v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictResolved, oplog.ConflictDismissed}, func(oplog.ConflictRow) bool {
		n++
		return n < maxCounted
	})
	return n
}

func seenPatterns(v *oplog.View, db oplog.DB) (n int) {
	v.Patterns(db, func(oplog.Pattern) bool {
		n++
		return n < maxCounted
	})
	return n
}
