package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Databases: what they are, what bounds them, and the policies that they keep their memories by.
var (
	CreateDatabase = row[CreateDatabaseRequest, CreatedDatabase](Op{Name: "databases_create", Does: "Make a database.", Scope: Write, Writes: true,
		HTTP: "POST /v1/databases", Wire: wire.OpCreateDB})
	Databases    = row[DatabasesRequest, DatabaseList](Op{Name: "databases", Does: "The databases that the token may use.", Scope: Read, HTTP: "GET /v1/databases", Wire: wire.OpListDB})
	DropDatabase = row[DropDatabaseRequest, DroppedDatabase](Op{Name: "databases_drop", Does: "Remove a database with all that is in it; its tokens are revoked.",
		Scope: Admin, Writes: true, HTTP: "DELETE /v1/databases/{name}"})

	Quota = row[QuotaRequest, QuotaAnswer](Op{Name: "quota", Does: "What a database is bounded to; 0 for no bound.", Scope: Read,
		HTTP: "GET /v1/admin/databases/{name}/quota"})
	SetQuota = row[SetQuotaRequest, QuotaSet](Op{Name: "quota_set", Does: "Bound a database: its active memories, and what each node is asked; 0 for no bound, what is left out stays.",
		Scope: Admin, Writes: true, HTTP: "POST /v1/admin/databases/{name}/quota"})

	Settings    = row[SettingsRequest, Policies](Op{Name: "settings", Does: "A database's policies; ages in seconds, 0 for none.", Scope: Read, HTTP: "GET /v1/admin/settings"})
	SetSettings = row[SetSettingsRequest, Policies](Op{Name: "settings_set", Does: "Change a database's policies; what is left out stays.", Scope: Owner, Writes: true,
		HTTP: "POST /v1/admin/settings"})
	Purge = row[PurgeRequest, Purged](Op{Name: "purge", Does: "Erase memories created before a time: texts, vectors and revisions.", Scope: Owner, Writes: true,
		HTTP: "POST /v1/admin/purge"})
)

type CreateDatabaseRequest struct {
	Name string `json:"name" is:"string!" doc:"Its name: 1 to 64 of A-Z a-z 0-9 . _ - and not a dot first." example:"work"`
}

type CreatedDatabase struct {
	Name    string   `json:"name" doc:"Its name."`
	ID      oplog.DB `json:"id" doc:"Its number, the same on every node."`
	Message string   `json:"message" doc:"For people: that it was made."`
}

type DatabasesRequest struct{}

type DatabaseList struct {
	Databases []Database `json:"databases" doc:"By number. A token that may not administer the cluster is told of its own."`
}

type Database struct {
	ID      oplog.DB `json:"id" doc:"Its number, the same on every node."`
	Name    string   `json:"name" doc:"Its name."`
	Created string   `json:"created_at" doc:"When it was made, as YYYY-MM-DD hh:mm:ss in UTC."`
}

type DropDatabaseRequest struct {
	Name string `json:"name" in:"path" doc:"The database's name."`
}

type DroppedDatabase struct {
	Name string `json:"dropped" doc:"The name of the database that was removed."`
}

type QuotaRequest struct {
	Name string `json:"name" in:"path" doc:"The database's name."`
}

// Bounds hold what a database, or a token, asks of each node; 0 is no bound.
type Bounds struct {
	PerSecond uint32 `json:"max_rps" doc:"Operations a second on each node; 0 for no bound."`
	Burst     uint32 `json:"burst" doc:"Operations that may come at once; 0 for a second's worth."`
	Batch     uint32 `json:"max_batch_size" doc:"Memories of one request; 0 for no bound."`
}

type QuotaAnswer struct {
	Database string `json:"database" doc:"The database's name."`
	Memories uint64 `json:"max_memories" doc:"Active memories that it may hold; 0 for no bound."`
	Bounds
	Active uint64 `json:"active_memories" doc:"Active memories that it holds."`
}

type SetQuotaRequest struct {
	Name      string  `json:"name" in:"path" doc:"The database's name."`
	Memories  *uint64 `json:"max_memories" doc:"Active memories that it may hold; 0 for no bound."`
	PerSecond *uint32 `json:"max_rps" doc:"Operations a second on each node; 0 for no bound."`
	Burst     *uint32 `json:"burst" doc:"Operations that may come at once; 0 for a second's worth."`
	Batch     *uint32 `json:"max_batch_size" doc:"Memories of one request; 0 for no bound."`
}

type QuotaSet struct {
	Database string `json:"database" doc:"The database's name."`
	Memories uint64 `json:"max_memories" doc:"Active memories that it may hold; 0 for no bound."`
	Bounds
	Index oplog.Index `json:"log_index" doc:"Where in the log the write is."`
}

type SettingsRequest struct{}

// Policies are what a database keeps its memories by.
type Policies struct {
	WorkingTTL   float64  `json:"working_ttl_secs" doc:"After how many seconds memories of the tier working are forgotten; 0 for never."`
	EpisodicTTL  float64  `json:"episodic_ttl_secs" doc:"After how many seconds memories of the tier episodic are forgotten; 0 for never."`
	PromoteAfter uint64   `json:"promote_after" doc:"After how many accesses a memory goes up one tier; 0 for never."`
	Consolidate  bool     `json:"consolidate" doc:"Whether background cognition may merge memories that say the same."`
	QuietMind    bool     `json:"quiet_mind" doc:"Whether there is no background cognition at all."`
	Updated      *float64 `json:"updated_at" doc:"When they were changed last, in Unix seconds; null for never."`
}

type SetSettingsRequest struct {
	WorkingTTL   *float64 `json:"working_ttl_secs" is:"number[0..]" doc:"After how many seconds memories of the tier working are forgotten, up to a century; 0 for never."`
	EpisodicTTL  *float64 `json:"episodic_ttl_secs" is:"number[0..]" doc:"After how many seconds memories of the tier episodic are forgotten, up to a century; 0 for never."`
	PromoteAfter *uint64  `json:"promote_after" doc:"After how many accesses a memory goes up one tier; 0 for never."`
	Consolidate  *bool    `json:"consolidate" doc:"Whether background cognition may merge memories that say the same."`
	QuietMind    *bool    `json:"quiet_mind" doc:"Whether there is no background cognition at all."`
}

type PurgeRequest struct {
	Before    field.Date `json:"before" is:"date!" doc:"Memories created before this go; those created at it stay."`
	Namespace string     `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Tier      string     `json:"tier" doc:"Only memories of this tier; blank for all."`
	Owner     string     `json:"owner" doc:"Only memories of this owner; blank for all."`
}

type Purged struct {
	Count uint64      `json:"purged" doc:"How many memories were erased that were not forgotten before."`
	Index oplog.Index `json:"log_index" doc:"Where in the log the last of its writes is."`
	Held  []string    `json:"still_held_by" doc:"Where their bytes may still be, and what ends that."`
}
