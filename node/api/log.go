package api

import "github.com/cairndb/cairn/oplog"

// The log: changes of the cluster with their callers, and applied entries without their contents.
var (
	Audits = row[AuditsRequest, AuditList](Op{Name: "audit",
		Does: "Changes of the cluster and the callers that made them, newest first.", Scope: Admin, HTTP: "GET /v1/admin/audit"})
	Log = row[LogRequest, LogAnswer](Op{Name: "log", Does: "Applied log entries without their texts; NDJSON.",
		Scope: Admin, HTTP: "GET /v1/admin/log", Media: "application/x-ndjson", Stream: true})
)

type AuditsRequest struct {
	Limit int `json:"limit" is:"integer[0..]" default:"100" doc:"Most changes to return; the newest 10,000 are kept."`
	Fresh
}

type AuditList struct {
	Audit []Audit `json:"audit" doc:"The newest first."`
}

// An Audit is a change of the cluster.
type Audit struct {
	Index oplog.Index `json:"log_index" doc:"Its log index."`
	At    float64     `json:"at" is:"time" doc:"When it was changed, in Unix seconds."`
	By    string      `json:"by" doc:"The caller: the beginning of a token's hash, master for the cluster secret, local for this host's user, node for a node itself."`
	Label string      `json:"label" doc:"The token's label."`
	What  string      `json:"what" doc:"What was done."`
	On    string      `json:"on" doc:"What was changed: a database, a token by the beginning of its hash, or a node."`
	How   string      `json:"how" doc:"The new values."`
	Node  uint32      `json:"node_id" doc:"The node that received the request."`
}

type LogRequest struct {
	From  uint64 `json:"from" doc:"Entries from this log index on; 0 for the newest."`
	Limit int    `json:"limit" is:"integer[0..]" default:"100" doc:"Most entries to return, up to 10,000."`
	Wait  int    `json:"wait_ms" is:"integer[0..]" doc:"Milliseconds to wait for the entry at from, up to 60,000."`
	Only  string `json:"-"` // name of the database whose entries are listed; empty for all
	Fresh
}

// Waits reports whether the request may wait idle for new entries.
func (q *LogRequest) Waits() bool { return q.Wait > 0 }

type LogAnswer struct {
	Lines []LogLine `json:"-"`
}

// A LogLine is an applied entry.
type LogLine struct {
	Index      oplog.Index `json:"index" doc:"Its log index."`
	Number     int         `json:"number" doc:"Its place among the entries at that index."`
	Time       float64     `json:"time" is:"time" doc:"When it was proposed, in Unix seconds."`
	Node       uint32      `json:"node" doc:"The node that received the request."`
	Database   string      `json:"database,omitempty" doc:"Its database; absent for an operation on the cluster."`
	Operations []LogOp     `json:"operations" doc:"What it does."`
}

// A LogOp is an operation of an entry.
type LogOp struct {
	Kind string `json:"kind" doc:"What it does."`
	ID   string `json:"id,omitempty" doc:"What was changed."`
}
