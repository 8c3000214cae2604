package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Databases, their bounds, and the policies by which they keep memories.
var (
	CreateDatabase = row[CreateDatabaseRequest, CreatedDatabase](Op{Name: "databases_create", Does: "Create a database.",
		Scope: Write, Writes: true,
		HTTP: "POST /v1/databases", Wire: wire.OpCreateDB})
	Databases = row[ReadRequest, DatabaseList](Op{Name: "databases", Bound: Free,
		Does: "The databases that the token may use.", Scope: Read, HTTP: "GET /v1/databases", Wire: wire.OpListDB})
	DropDatabase = row[DropDatabaseRequest, DroppedDatabase](Op{Name: "databases_drop",
		Does:  "Delete a database with all its content; its tokens are revoked.",
		Scope: Admin, Writes: true, HTTP: "DELETE /v1/databases/{name}", Confirm: "name"})

	Quota = row[QuotaRequest, QuotaAnswer](Op{Name: "quota", Does: "A database's limits; 0 for no limit.", Scope: Read,
		HTTP: "GET /v1/admin/databases/{name}/quota"})
	SetQuota = row[SetQuotaRequest, QuotaSet](Op{Name: "quota_set",
		Does:  "Set a database's limits: active memories, and requests on each node; 0 for no limit; omitted fields stay as they are.",
		Scope: Admin, Writes: true, HTTP: "POST /v1/admin/databases/{name}/quota"})

	Settings = row[ReadRequest, Policies](Op{Name: "settings",
		Does: "A database's policies; ages in seconds, 0 for none.", Scope: Read, HTTP: "GET /v1/admin/settings"})
	SetSettings = row[SetSettingsRequest, Policies](Op{Name: "settings_set",
		Does: "Change a database's policies; omitted fields stay.", Scope: Owner, Writes: true,
		HTTP: "POST /v1/admin/settings"})
	Purge = row[PurgeRequest, Purged](Op{Name: "purge",
		Does: "Erase memories created before a time: texts, vectors and revisions.", Scope: Owner, Writes: true,
		HTTP: "POST /v1/admin/purge", Confirm: "before"})
)

type CreateDatabaseRequest struct {
	Name string `json:"name" is:"string!" doc:"Its name: 1 to 64 characters of A-Z a-z 0-9 . _ -, not beginning with a dot." example:"work"`
}

type CreatedDatabase struct {
	Name    string   `json:"name" doc:"Its name."`
	ID      oplog.DB `json:"id" doc:"The database's number, the same on every node."`
	Message string   `json:"message" doc:"A message for people: the database was created."`
}

type DatabaseList struct {
	Databases []Database `json:"databases" doc:"Databases by number. A token without scope admin sees only its own."`
}

type Database struct {
	ID      oplog.DB `json:"id" doc:"The database's number, the same on every node."`
	Name    string   `json:"name" doc:"Its name."`
	Created string   `json:"created_at" doc:"When it was made, as YYYY-MM-DD hh:mm:ss in UTC."`
}

type DropDatabaseRequest struct {
	Name string `json:"name" in:"path" doc:"The database's name." example:"work"`
}

type DroppedDatabase struct {
	Name string `json:"dropped" doc:"The name of the database that was removed."`
}

type QuotaRequest struct {
	Name string `json:"name" in:"path" doc:"The database's name." example:"work"`
	Fresh
}

// Bounds limit what a database or a token may use of each node; 0 means no limit.
type Bounds struct {
	PerSecond uint32 `json:"max_rps" doc:"Operations a second on each node; 0: no limit."`
	Burst     uint32 `json:"burst" doc:"Burst: most operations at once; 0 for one second's worth of the rate."`
	Batch     uint32 `json:"max_batch_size" doc:"Most memories in one request; 0: no limit."`
}

type QuotaAnswer struct {
	Database string `json:"database" doc:"The database's name."`
	Memories uint64 `json:"max_memories" doc:"Most active memories that the database may hold; 0: no limit."`
	Bounds
	Active uint64 `json:"active_memories" doc:"Number of active memories in the database."`
}

type SetQuotaRequest struct {
	Name      string  `json:"name" in:"path" doc:"The database's name." example:"work"`
	Memories  *uint64 `json:"max_memories" doc:"Most active memories that the database may hold; 0: no limit."`
	PerSecond *uint32 `json:"max_rps" doc:"Operations a second on each node; 0: no limit."`
	Burst     *uint32 `json:"burst" doc:"Burst: most operations at once; 0 for one second's worth of the rate."`
	Batch     *uint32 `json:"max_batch_size" doc:"Most memories in one request; 0: no limit."`
}

type QuotaSet struct {
	Database string `json:"database" doc:"The database's name."`
	Memories uint64 `json:"max_memories" doc:"Most active memories that the database may hold; 0: no limit."`
	Bounds
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

// Policies are the rules by which a database keeps its memories.
type Policies struct {
	WorkingTTL   float64  `json:"working_ttl_secs" doc:"Seconds after which memories of the tier working are forgotten; 0 for never."`
	EpisodicTTL  float64  `json:"episodic_ttl_secs" doc:"Seconds after which memories of the tier episodic are forgotten; 0 for never."`
	DefaultTTL   float64  `json:"default_ttl_secs" doc:"Seconds after which a memory expires that is stored without a ttl or expires_at; 0 for never."`
	PromoteAfter uint64   `json:"promote_after" doc:"Number of accesses after which a memory moves up one tier; 0 for never."`
	Consolidate  bool     `json:"consolidate" doc:"Whether background cognition may merge memories that say the same thing."`
	QuietMind    bool     `json:"quiet_mind" doc:"true: no background cognition runs on the database."`
	Redact       string   `json:"redact" is:"string{capture,all,off}" doc:"Which memories lose their secrets before they are stored: capture (output of tools), all, or off."`
	Single       []string `json:"single_valued" doc:"Relations that have one value at a time in this database, but several by default: a newer value supersedes the older one."`
	Several      []string `json:"multi_valued" doc:"Relations that may have several values in this database, but one by default."`
	Lift         []string `json:"lift" doc:"Members of the metadata that become attributes of a memory when it is stored."`
	Updated      *float64 `json:"updated_at" is:"time" doc:"When they were changed last, in Unix seconds; null for never."`
}

type SetSettingsRequest struct {
	WorkingTTL   *float64  `json:"working_ttl_secs" is:"seconds" doc:"Seconds after which memories of the tier working are forgotten, up to a century; 0 for never."`
	EpisodicTTL  *float64  `json:"episodic_ttl_secs" is:"seconds" doc:"Seconds after which memories of the tier episodic are forgotten, up to a century; 0 for never."`
	DefaultTTL   *float64  `json:"default_ttl_secs" is:"seconds" doc:"Seconds after which a memory expires that is stored without a ttl or expires_at, up to a century; 0 for never. Applies to memories that are stored from now on."`
	PromoteAfter *uint64   `json:"promote_after" doc:"Number of accesses after which a memory moves up one tier; 0 for never."`
	Consolidate  *bool     `json:"consolidate" doc:"Whether background cognition may merge memories that say the same thing."`
	QuietMind    *bool     `json:"quiet_mind" doc:"true: no background cognition runs on the database."`
	Redact       *string   `json:"redact" is:"string{capture,all,off}" doc:"Which memories lose their secrets before they are stored: capture (output of tools, and memories of the kind capture), all, or off."`
	Single       *[]string `json:"single_valued" doc:"More relations that have one value at a time, in addition to the defaults (lives in, works at, led by, owned by, born, email, phone, status, deadline, ...): a newer value supersedes the older one. Replaces the previous list."`
	Several      *[]string `json:"multi_valued" doc:"Relations that may have several values here: a newer value supersedes none. Replaces the previous list."`
	Lift         *[]string `json:"lift" doc:"Members of the metadata, at most 64, that become attributes to filter by when a memory is stored, or its metadata corrected, without an attribute of that name. Values that an attribute cannot have stay in the metadata alone. Applies to memories that are stored or imported from now on; replaces the previous list."`
}

type PurgeRequest struct {
	Before    field.Date `json:"before" is:"date!" doc:"Memories created before this time are erased." example:"2026-01-31"`
	Namespace string     `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Tier      string     `json:"tier" doc:"Only memories of this tier; blank for all."`
	Owner     string     `json:"owner" doc:"Only memories of this owner; blank for all."`
}

type Purged struct {
	Count uint64      `json:"purged" doc:"Number of erased memories that were not forgotten already."`
	Index field.Token `json:"log_index" doc:"Position of its last write in the log."`
	Held  []string    `json:"still_held_by" doc:"Where the erased bytes may still be, and what removes them."`
}
