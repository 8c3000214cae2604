package api

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Backups, and exports of a database as lines of JSON. A backup is first written to a file next to the state. The file
// is then served with ranges, so that an interrupted download can continue, and is removed by its id.
var (
	MakeBackup = row[MakeBackupRequest, Backup](Op{Name: "backup", Scope: Admin, HTTP: "POST /v1/admin/backups",
		Does: "Make a backup of all databases as this node has them: the whole state, or, with since, the log after an index."})
	FetchBackup = row[FetchBackupRequest, BackupFile](Op{Name: "backup_send", Does: "Download a backup; ranges are served.",
		Scope: Admin, HTTP: "GET /v1/admin/backups/{id}",
		Media: "application/octet-stream", Stream: true})
	DropBackup = row[DropBackupRequest, DroppedBackup](Op{Name: "backup_drop", Does: "Delete a backup that was downloaded.",
		Scope: Admin, HTTP: "DELETE /v1/admin/backups/{id}", Confirm: "id"})

	Export = row[ExportRequest, Exported](Op{Name: "export", Bound: Narrowed,
		Does:  "A database's memories with their revisions and claims, merged ones included, then its relations; NDJSON. With a filter, relations are left out. Forgotten memories, claims that clients stated, aliases, sessions, policies and what think found are in a backup alone.",
		Scope: Read, HTTP: "GET /v1/export",
		Media: "application/x-ndjson", Stream: true})
	Import = row[ImportRequest, Imported](Op{Name: "import", Scope: Write, Writes: true, HTTP: "POST /v1/import",
		Body: "application/x-ndjson", Stream: true,
		Does: "Import NDJSON as export writes it. Memories and relations keep their ids, unless an id is taken already. A line with a key or an external_id is stored under it, or corrects the memory there if that says something else. " +
			"A line that is there already changes nothing, so an import that broke off can be repeated. A line is read only after the lines before it are stored."})
)

type MakeBackupRequest struct {
	Since   oplog.Index `json:"since" doc:"Only the log after this index; 0 for the whole state."`
	LogTime string      `json:"log_time" doc:"log_time of the backup that ended there. If the log had another time there, the backup is of another history: 409 conflict."`
}

// A Backup is a file that can be downloaded.
type Backup struct {
	ID      string      `json:"id" doc:"The backup's id, for the download."`
	Since   oplog.Index `json:"since" doc:"The index after which it begins; 0: it is the whole state."`
	Index   oplog.Index `json:"index" doc:"The index at which it ends."`
	LogTime string      `json:"log_time" doc:"The log's time at that index, for the backup that continues this one."`
	Hash    string      `json:"state_hash" doc:"Hash of its state at that index."`
	Size    int64       `json:"size" doc:"Size in bytes."`
	SHA256  string      `json:"sha256" doc:"The SHA-256 of these bytes, in hex."`
}

type FetchBackupRequest struct {
	ID string `json:"id" in:"path" doc:"The backup's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e16"`
}

// BackupFile is an open backup. Its reader closes it.
type BackupFile struct {
	File   io.ReadSeekCloser `json:"-"`
	SHA256 string            `json:"-"`
}

type DropBackupRequest struct {
	ID string `json:"id" in:"path" doc:"The backup's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e16"`
}

type DroppedBackup struct {
	ID string `json:"deleted" doc:"The id of the backup that was removed."`
}

type ExportRequest struct {
	Filter field.Map `json:"filter" doc:"Only memories that pass it, as in a recall."`
	Fresh
}

// Exported holds iterators that read an export page by page while it is sent. A slow reader does not block the state.
type Exported struct {
	Memories iter.Seq2[[]ExportedMemory, error] `json:"-"`
	Edges    iter.Seq2[[]ExportedEdge, error]   `json:"-"`
}

// An ExportedRevision is the state of a memory before a correction.
type ExportedRevision struct {
	Number     uint32          `json:"revision"`
	Text       string          `json:"text"`
	Importance float64         `json:"importance"`
	Valence    float64         `json:"valence"`
	Certainty  float64         `json:"certainty"`
	Pin        bool            `json:"pin,omitempty"`
	Expires    float64         `json:"expires_at,omitempty"`
	Hidden     bool            `json:"unsearchable,omitempty"`
	Held       bool            `json:"quarantined,omitempty"`
	Namespace  string          `json:"namespace,omitempty"`
	Path       string          `json:"key,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	By         string          `json:"superseded_by,omitempty"`
	Surely     bool            `json:"superseded_surely,omitempty"`
	From       float64         `json:"from,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Until      float64         `json:"until"`
	Erased     float64         `json:"erased_at,omitempty"`
	Stamp
}

// An ExportedEntity is a name in a memory's text.
type ExportedEntity struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// An ExportedClaim is a claim that a memory's text states. The memory is its source.
type ExportedClaim struct {
	ID        string   `json:"claim_id"`
	Namespace string   `json:"namespace"`
	Src       string   `json:"src"`
	Type      string   `json:"rel_type"`
	Dst       string   `json:"dst"`
	Polarity  int8     `json:"polarity"`
	Modality  string   `json:"modality,omitempty"`
	ValidFrom *float64 `json:"valid_from,omitempty"`
	ValidTo   *float64 `json:"valid_to,omitempty"`
	Extractor string   `json:"extractor,omitempty"`
	Version   string   `json:"extractor_version,omitempty"`
	Band      string   `json:"confidence_band,omitempty"`
	SpanStart *int64   `json:"span_start,omitempty"`
	SpanEnd   *int64   `json:"span_end,omitempty"`
	Weight    float64  `json:"weight"`
	Created   float64  `json:"created_at" of:"At"`
	Updated   float64  `json:"updated_at"`
}

// An ExportedEdge is a line of an export with type edge.
type ExportedEdge struct {
	Line    string  `json:"type"` // edge
	ID      string  `json:"edge_id"`
	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	Type    string  `json:"rel_type"`
	Weight  float64 `json:"weight"`
	Created float64 `json:"created_at"`
	Updated float64 `json:"updated_at"`
}

type ImportRequest struct {
	Key   string    `json:"key" in:"query" doc:"Idempotency key of the whole import, up to 480 bytes: repeating the import with it answers what the first one did."`
	Keep  bool      `json:"keep_ids" in:"query" doc:"true: reject a line whose id is taken; false: give it a new id."`
	Skip  bool      `json:"skip_refused" in:"query" doc:"true: go on behind a line that is rejected, and list it in the answer; false: end the import there."`
	Lines io.Reader `json:"-"` // JSON objects, one per line; they are read no faster than they are stored
}

type Imported struct {
	Lines    int         `json:"lines" doc:"Number of lines read."`
	Memories int         `json:"memories" doc:"Number of memories stored or corrected."`
	Kept     int         `json:"kept,omitempty" doc:"Number of lines that changed nothing, because their memory or relation is here already; absent when there are none."`
	Refused  int         `json:"refused,omitempty" doc:"With skip_refused: number of lines that were rejected; absent when there are none."`
	Reasons  []Rejected  `json:"reasons,omitempty" doc:"The first 100 of them, and why."`
	Edges    int         `json:"edges" doc:"Number of relations stored."`
	Index    field.Token `json:"log_index" doc:"Position of the last one in the log."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

// A Rejected is a line of an import that was rejected.
type Rejected struct {
	Line   int    `json:"line" doc:"Its number, from 1."`
	Reason string `json:"reason" doc:"Why it was rejected."`
}

// An ImportedLine is a line of an import that is not a memory. Memories are parsed as Drafts.
type ImportedLine struct {
	Type    string  `json:"type" default:"memory" doc:"memory or edge."`
	Src     string  `json:"src" doc:"Edges: the entity that it starts from."`
	Dst     string  `json:"dst" doc:"Edges: the entity that it leads to."`
	RelType string  `json:"rel_type" doc:"Edges: the kind of relation."`
	Weight  float64 `json:"weight" default:"1" doc:"Edges: the weight."`

	EdgeID  string     `json:"edge_id" doc:"Edges: the id."`
	Created field.Date `json:"created_at" doc:"Edges: when it was stored first; default: now."`
	Updated field.Date `json:"updated_at" doc:"Edges: when its weight was set; default: now."`

	RID     string `json:"rid" doc:"Memories: the id."`
	Owner   string `json:"owner" doc:"Memories: the owner."`
	Speaker string `json:"speaker" doc:"Memories: who said it."`
	Writer  string `json:"writer" doc:"Memories: who wrote it; only a token of the class operator keeps it."`
	Dialect string `json:"dialect" doc:"Memories: the protocol it came by; only a token of the class operator keeps it."`
	Path    string `json:"key" doc:"Memories: the key. If the key has a memory here, the line corrects that memory, unless the line comes from an export and its revision is not newer."`

	External string `json:"external_id" doc:"Memories without a key: the id that another system has for it. It is stored under the key /.external/ID, or a hash of the id if that cannot be in a key."`
}
