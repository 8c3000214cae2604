package api

// Maintenance of one database after another. Clients that administer a server call its databases tenants. Of what they
// can request, only rounds of cognition have a meaning here: there is nothing to split or to repair by hand.
var (
	RunMaintenance = row[RunMaintenanceRequest, MaintenanceRun](Op{Name: "maintenance_run", Scope: Admin, Writes: true,
		HTTP: "POST /v1/admin/maintenance/run",
		Does: "Merge duplicates and look for contradictions and patterns, in one database or all."})
	MaintenanceStatus = row[MaintenanceStatusRequest, UpkeepList](Op{Name: "maintenance_status", Scope: Admin,
		HTTP: "GET /v1/admin/maintenance/status",
		Does: "When maintenance last ran, for one database or each, and what waits for a decision."})
)

type RunMaintenanceRequest struct {
	Tenant string `json:"tenant" in:"query" doc:"The database's name; blank for all."`
	_      bool   `idle:"split_oversized"`
	_      bool   `idle:"repair_artifacts"`
}

type MaintenanceRun struct {
	Tenants []Maintained `json:"tenants" doc:"The result for each database."`
	Count   int          `json:"count" doc:"Number of rows."`
}

// Maintained is the result of a round in one database.
type Maintained struct {
	Tenant string `json:"tenant" doc:"The database's name."`
	Thought
}

type MaintenanceStatusRequest struct {
	Tenant string `json:"tenant" doc:"The database's name; blank for all."`
}

type UpkeepList struct {
	Tenants []Upkeep `json:"tenants" doc:"The state of each database."`
	Count   int      `json:"count" doc:"Number of rows."`
}

// Upkeep reports when maintenance last ran on a database, and what work is pending there.
type Upkeep struct {
	Tenant    string   `json:"tenant" doc:"The database's name."`
	Thought   *float64 `json:"last_maintenance" is:"time" doc:"When maintenance last ran, in Unix seconds; null for never."`
	Active    uint64   `json:"active_memories" doc:"Number of memories that a recall searches."`
	Conflicts uint64   `json:"open_conflicts" doc:"Number of open contradictions."`
	Triggers  uint64   `json:"pending_triggers" doc:"Number of pending triggers."`
}
