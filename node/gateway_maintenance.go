package node

import (
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Clients that look after a server call its databases tenants. What they may ask for beside a round of cognition has no meaning here:
// nothing is left to split or to repair by hand.
var maintenanceRoutes = []route{
	{name: "maintenance_run", method: "POST", path: "/v1/admin/maintenance/run", scope: api.Admin, write: true, handle: runMaintenance,
		summary: "Let a database, or all of them, merge duplicates and look for contradictions and patterns", query: "tenant:string", body: "split_oversized:boolean~ repair_artifacts:boolean~",
		result: "tenants:[]Maintained! count:integer!"},
	{name: "maintenance_status", method: "GET", path: "/v1/admin/maintenance/status", scope: api.Admin, handle: maintenanceStatus,
		summary: "When a database, or each of them, was last looked over, and what waits to be decided", query: "tenant:string", result: "tenants:[]Upkeep! count:integer!"},
}

// tenants are the callers of the databases a request means: the one it names, or all.
func (g *gateway) tenants(q *request) (list []api.Caller, err error) {
	if name := q.param("tenant"); name != "" {
		c, err := g.s.Select(q.c, name)
		return []api.Caller{c}, err
	}
	return list, g.s.state.Read(func(v *oplog.View) error {
		for _, d := range visible(q.c, v) {
			c := q.c
			c.DB, c.Database = d.ID, d.Name
			list = append(list, c)
		}
		return nil
	})
}

// maintained is a round in one database.
type maintained struct {
	Tenant string `json:"tenant"`
	api.Thought
}

func runMaintenance(g *gateway, q *request) (any, error) {
	all, err := g.tenants(q)
	if err != nil {
		return nil, err
	}
	rows := []maintained{}
	for _, c := range all {
		a, err := api.Think.Do(q.r.Context(), g.s, c, &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true, Patterns: true}, Personality: true, Limit: defaultConsolidation})
		if err != nil {
			return nil, err
		}
		rows = append(rows, maintained{c.Database, *a})
	}
	return map[string]any{"tenants": rows, "count": len(rows)}, nil
}

func maintenanceStatus(g *gateway, q *request) (any, error) {
	all, err := g.tenants(q)
	if err != nil {
		return nil, err
	}
	rows := []map[string]any{}
	err = g.s.state.Read(func(v *oplog.View) error {
		for _, c := range all {
			st := v.Stats(c.DB)
			rows = append(rows, map[string]any{"tenant": c.Database, "last_maintenance": when(v.Mind(c.DB).LastThink), "active_memories": st.Active,
				"open_conflicts": st.OpenConflicts, "pending_triggers": st.PendingTriggers})
		}
		return nil
	})
	return map[string]any{"tenants": rows, "count": len(rows)}, err
}
