package api

// Databases looked over one after the other. Clients that look after a server call its databases tenants. What they may ask for
// beside a round of cognition has no meaning here: nothing is left to split or to repair by hand.
var (
	RunMaintenance = row[RunMaintenanceRequest, MaintenanceRun](Op{Name: "maintenance_run", Scope: Admin, Writes: true, HTTP: "POST /v1/admin/maintenance/run",
		Does: "Let a database, or all of them, merge duplicates and look for contradictions and patterns."})
	MaintenanceStatus = row[MaintenanceStatusRequest, UpkeepList](Op{Name: "maintenance_status", Scope: Admin, HTTP: "GET /v1/admin/maintenance/status",
		Does: "When a database, or each of them, was last looked over, and what waits to be decided."})
)

type RunMaintenanceRequest struct {
	Tenant string `json:"tenant" in:"query" doc:"The database's name; blank for all."`
	_      bool   `idle:"split_oversized"`
	_      bool   `idle:"repair_artifacts"`
}

type MaintenanceRun struct {
	Tenants []Maintained `json:"tenants" doc:"What became of each."`
	Count   int          `json:"count" doc:"How many these are."`
}

// Maintained is a round in one database.
type Maintained struct {
	Tenant string `json:"tenant" doc:"The database's name."`
	Thought
}

type MaintenanceStatusRequest struct {
	Tenant string `json:"tenant" doc:"The database's name; blank for all."`
}

type UpkeepList struct {
	Tenants []Upkeep `json:"tenants" doc:"How each does."`
	Count   int      `json:"count" doc:"How many these are."`
}

// Upkeep is when a database was last looked over, and what waits there.
type Upkeep struct {
	Tenant    string   `json:"tenant" doc:"The database's name."`
	Thought   *float64 `json:"last_maintenance" doc:"When it was last looked over, in Unix seconds; null for never."`
	Active    uint64   `json:"active_memories" doc:"How many memories are recalled from."`
	Conflicts uint64   `json:"open_conflicts" doc:"How many contradictions are not settled."`
	Triggers  uint64   `json:"pending_triggers" doc:"How many matters wait for attention."`
}
