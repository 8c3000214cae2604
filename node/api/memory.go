package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// A Memory is all that is known of one: flat, in the order of its JSON.
type Memory struct {
	RID       string  `json:"rid" doc:"The memory's id."`
	Type      string  `json:"type" doc:"The same as memory_type."`
	Kind      string  `json:"memory_type" doc:"What kind of memory it is: semantic, episodic, procedural or a name of the client's own."`
	Text      string  `json:"text" doc:"Its text."`
	Created   float64 `json:"created_at" is:"time" doc:"When it happened, in Unix seconds."`
	CreatedAt string  `json:"created_at_iso" doc:"The same time in RFC 3339."`
	Updated   float64 `json:"updated_at" is:"time" doc:"When it was stored or changed last, in Unix seconds."`
	UpdatedAt string  `json:"updated_at_iso" doc:"The same time in RFC 3339."`

	Importance float64 `json:"importance" doc:"Importance, from 0 to 1."`
	HalfLife   float64 `json:"half_life" doc:"Half-life in hours: after it the memory's importance has decayed by half."`
	Accessed   float64 `json:"last_access" is:"time" doc:"When it was recalled last, in Unix seconds."`
	Accesses   uint64  `json:"access_count" doc:"Number of recalls that returned it."`
	Valence    float64 `json:"valence" doc:"Emotional valence, from -1 (bad) to 1 (good)."`
	Certainty  float64 `json:"certainty" doc:"Certainty, from 0 to 1."`

	Into    *string  `json:"consolidated_into" doc:"The memory that it was merged into."`
	Status  string   `json:"consolidation_status" is:"string{active,consolidated,tombstoned}" doc:"Its status; active memories are recalled."`
	Sources []string `json:"consolidation_sources" doc:"The memories that it was merged from."`
	Tier    string   `json:"storage_tier" doc:"hot, or the tier that the client gave."`

	MetadataText string          `json:"metadata_json" doc:"The metadata as a text."`
	Metadata     json.RawMessage `json:"metadata" doc:"The client's own data."`
	Namespace    string          `json:"namespace" doc:"Its namespace."`
	Domain       string          `json:"domain" doc:"Its domain, as the client named it."`
	Source       string          `json:"source" doc:"Its source."`
	Emotion      *string         `json:"emotional_state" doc:"The emotion that it was stored with."`
	Session      *string         `json:"session_id" doc:"The session that it joined."`
	Due          *float64        `json:"due_at" is:"time" doc:"When it is due, in Unix seconds."`
	TemporalKind *string         `json:"temporal_kind" doc:"The meaning of its date, as the client named it."`
	Reason       *string         `json:"tombstone_reason" doc:"Why it was forgotten."`
	Revision     uint32          `json:"revision" doc:"Number of corrections."`
	Model        *string         `json:"embedding_model" doc:"The embedder that made its vector."`
	VectorBytes  *int            `json:"embedding_bytes" doc:"Size of its vector in bytes."`
	Entities     []string        `json:"entities" doc:"The entities that its text names."`
	Claims       []string        `json:"claims" doc:"The claims that were read from its text."`
}

// Memories.
var (
	Remember = row[RememberRequest, Remembered](Op{Name: "remember", Does: "Store a memory.", Scope: Write, Writes: true, HTTP: "POST /v1/remember", Wire: wire.OpRemember,
		Adds: func(any) int { return 1 },
		Tool: &Tool{Name: "remember", Title: "Remember", Text: "Store one fact, decision, preference or event so that it is there in later conversations. Write it as a sentence that stands by itself: who, what, when. " +
			"Use it when the user says something worth keeping, when a decision is made, and when you learn how something works. Never store secrets."}})
	RememberBatch = row[RememberBatchRequest, RememberedBatch](Op{Name: "remember_batch", Does: "Store memories, all or none.", Scope: Write, Writes: true,
		HTTP: "POST /v1/remember/batch", Large: true, Wire: wire.OpRememberBatch, Adds: memories})

	Forget = row[ForgetRequest, Forgotten](Op{Name: "forget", Does: "Make a memory invisible to recall and lists; it can still be read by its id until it is purged.",
		Scope: Write, Writes: true, HTTP: "POST /v1/forget", Wire: wire.OpForget, Confirm: "rid",
		Tool: &Tool{Name: "forget", Title: "Forget", Destructive: true, Idempotent: true,
			Text: "Make a memory invisible for good. Use it when the user asks for it, or when a memory should never have been stored."}})
	Correct = row[CorrectRequest, Corrected](Op{Name: "correct", Does: "Change a memory in place; the old text is kept as a revision.",
		Scope: Write, Writes: true, HTTP: "POST /v1/correct", Missing: "memory_not_found",
		Tool: &Tool{Name: "correct", Title: "Correct a memory", Destructive: true,
			Text: "Change a memory that is wrong or out of date. The old text is kept as a revision. Prefer it to forgetting the memory and storing another one."}})
	Undo = row[UndoRequest, Undone](Op{Name: "undo", Does: "Restore a memory to the state before a correction; its current text is kept as a revision, so that this can be undone too.",
		Scope: Write, Writes: true, HTTP: "POST /v1/undo", Missing: "memory_not_found", Confirm: "rid"})

	Get       = row[GetRequest, Memory](Op{Name: "memory", Does: "One memory, also when it was merged or forgotten.", Scope: Read, HTTP: "GET /v1/memory/{rid}", Missing: "memory_not_found"})
	Revisions = row[RevisionsRequest, RevisionList](Op{Name: "revisions", Does: "A memory's earlier texts, one before each correction, oldest first.", Scope: Read, HTTP: "GET /v1/memory/{rid}/revisions", Missing: "memory_not_found"})
	Current   = row[CurrentRequest, CurrentMemory](Op{Name: "current", Does: "The newest memory of a namespace.", Scope: Read, HTTP: "GET /v1/current", Missing: "memory_not_found"})
)

// memories returns the number of memories in a batch.
func memories(request any) int { return len(request.(*RememberBatchRequest).Memories) }

// A Draft is a memory as a client gives it: flat, in the order in which the reference lists its fields.
type Draft struct {
	Text       string          `json:"text" tool:"content,memory" is:"string!" doc:"What to remember: a sentence that stands by itself." example:"Ada prefers tea to coffee."`
	Type       string          `json:"memory_type" tool:"type" default:"semantic" doc:"What kind of memory it is: semantic, episodic, procedural or a name of your own."`
	Importance float64         `json:"importance" is:"unit" default:"0.5" doc:"Importance, from 0 to 1."`
	Valence    float64         `json:"valence" is:"signed" doc:"Emotional valence, from -1 (bad) to 1 (good)."`
	HalfLife   float64         `json:"half_life" is:"hours" default:"168" doc:"Half-life in hours: after it the memory's importance has decayed by half."`
	Metadata   json.RawMessage `json:"metadata" default:"{}" doc:"Your own JSON object, stored with the memory."`
	Namespace  string          `json:"namespace" doc:"Its namespace; blank for default."`
	Certainty  float64         `json:"certainty" is:"unit" default:"1" doc:"Certainty, from 0 to 1."`
	Domain     string          `json:"domain" doc:"Its domain, such as work or health."`
	Source     string          `json:"source" default:"user" doc:"Its source."`
	Emotion    string          `json:"emotional_state" doc:"The emotion of the memory."`
	Embedding  field.Vector    `json:"embedding" tool:"-" doc:"Its vector, of the database's dimension; made by the database's embedder when it is left out."`
	Session    string          `json:"session_id" tool:"-" doc:"The session that it joins; the namespace's active one when it is left out."`
	Created    field.Date      `json:"created_at" doc:"When it happened; default: now."`
	Due        field.Date      `json:"due_at" doc:"When it is due."`
	Temporal   string          `json:"temporal_kind" tool:"-" doc:"The meaning of its date: a word of your own."`
	Tier       string          `json:"tier" tool:"-" doc:"working, episodic or longterm, which fade by different rules; or a word of your own."`
	Key        string          `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it stores nothing twice."`

	RID     string `json:"-"` // made by the node when it is blank
	Owner   string `json:"-"`
	Speaker string `json:"-"`

	History *History `json:"-"` // of an imported memory
}

type RememberRequest struct{ Draft }

// Remembered is the result of storing a memory. Where its key was used for another one before, Stored is false.
type Remembered struct {
	RID      string      `json:"rid" doc:"The memory's id."`
	Index    oplog.Index `json:"log_index,omitzero" doc:"Log index of the write."`
	Stored   *bool       `json:"stored,omitempty" doc:"false: the idempotency key was used for another memory, which rid names."`
	Conflict bool        `json:"idempotency_conflict,omitempty" doc:"true: the idempotency key was used for another memory."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`

	Replayed bool `json:"-"` // the key answered: the memory was stored before
}

type RememberBatchRequest struct {
	Memories []Draft `json:"memories" is:"!" doc:"The memories, at most 10,000."`
	Key      string  `json:"idempotency_key" is:"key" doc:"Idempotency key of the batch: memories without a key of their own get this key with their position, so repeating the request stores nothing twice."`

	Whole string `json:"-"` // a key of the batch as a whole: it was stored or it was not
}

type RememberedBatch struct {
	RIDs  []string    `json:"rids" doc:"The memories' ids, in the order of the request."`
	Count int         `json:"count" doc:"Number of memories stored."`
	Index oplog.Index `json:"log_index" doc:"Log index of the write."`

	Redacted []string `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
	Replayed bool     `json:"-"`
}

type ForgetRequest struct {
	RID    string `json:"rid" tool:"id,memory_id" is:"string!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason string `json:"reason" doc:"The reason, for later readers."`
	_      string `idle:"namespace" tool:"-"`
}

type Forgotten struct {
	RID   string      `json:"rid" doc:"The memory's id."`
	Found bool        `json:"found" doc:"Whether such a memory existed."`
	Index oplog.Index `json:"log_index" doc:"Log index of the write."`
}

type CorrectRequest struct {
	RID        string       `json:"rid" tool:"id,memory_id" is:"string!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason     string       `json:"reason" is:"string!" doc:"The reason for the change, shown with its revisions." example:"Alice moved on"`
	Text       *string      `json:"new_text" tool:"text,content" doc:"The new text."`
	Importance *float64     `json:"new_importance" is:"unit" doc:"New importance, from 0 to 1."`
	Valence    *float64     `json:"new_valence" is:"signed" doc:"New emotional valence, from -1 (bad) to 1 (good)."`
	Merge      field.Map    `json:"metadata_merge" doc:"Metadata keys to replace; null removes a key."`
	Embedding  field.Vector `json:"embedding" tool:"-" doc:"The vector of the new text; made by the database's embedder when it is left out."`
	Expected   *uint32      `json:"expected_revision" tool:"-" is:"integer[0..]" doc:"The revision that the memory must be at, which is its number of corrections; at another one the request is refused with the code revision_conflict."`
	Key        string       `json:"idempotency_key" tool:"-" is:"key" doc:"Idempotency key: repeating the request with it corrects nothing twice."`

	Certainty *float64 `json:"-"`
}

type Corrected struct {
	RID       string      `json:"rid" doc:"The memory's id."`
	Corrected string      `json:"corrected_rid" doc:"The same as rid."`
	Original  string      `json:"original_rid" doc:"The same as rid."`
	Revision  uint64      `json:"revision" doc:"Number of corrections."`
	Index     oplog.Index `json:"log_index" doc:"Log index of the write."`
	Redacted  []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type UndoRequest struct {
	RID      string  `json:"rid" is:"string!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Revision *uint32 `json:"revision" is:"integer[0..]" doc:"The revision to go back to, as the list of revisions numbers them; the one before the last correction when it is left out."`
	Reason   string  `json:"reason" doc:"The reason, shown with its revisions."`
	Expected *uint32 `json:"expected_revision" is:"integer[0..]" doc:"The revision that the memory must be at, which is its number of corrections; at another one the request is refused with the code revision_conflict."`
	Key      string  `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it undoes nothing twice."`
}

type Undone struct {
	RID      string      `json:"rid" doc:"The memory's id."`
	Text     string      `json:"text" doc:"Its text from now on."`
	Restored uint32      `json:"restored" doc:"The revision that it went back to."`
	Revision uint64      `json:"revision" doc:"Number of corrections, this one included."`
	Index    oplog.Index `json:"log_index" doc:"Log index of the write."`
}

type GetRequest struct {
	RID string `json:"rid" in:"path" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	_   string `idle:"namespace"`
	Fresh
}

type RevisionsRequest struct {
	RID    string `json:"rid" in:"path" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Offset int    `json:"offset" is:"integer[0..]" doc:"Number of revisions to skip."`
	Fresh
}

type RevisionList struct {
	RID       string     `json:"rid" doc:"The memory's id."`
	Revisions []Revision `json:"revisions" doc:"The oldest first."`
	Next      *int       `json:"next_offset,omitempty" doc:"The offset of the next page, where an answer of 16 MiB ended before the last revision."`
}

// A Revision is the state of a memory before a correction.
type Revision struct {
	Number     uint32  `json:"revision" doc:"Number of the revision, from 0."`
	Text       string  `json:"text" doc:"Its text."`
	Importance float64 `json:"importance" doc:"Importance, from 0 to 1."`
	Valence    float64 `json:"valence" doc:"Emotional valence, from -1 (bad) to 1 (good)."`
	Certainty  float64 `json:"certainty" doc:"Certainty, from 0 to 1."`
	Reason     string  `json:"reason" doc:"Why it was corrected."`
	Until      float64 `json:"until" is:"time" doc:"When it was replaced, in Unix seconds."`
}

type CurrentRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Fresh
}

type CurrentMemory struct {
	Found     bool   `json:"found" doc:"true: a namespace without a memory is an error."`
	Namespace string `json:"namespace" doc:"The namespace."`
	Record    Memory `json:"record" doc:"Its newest memory."`
}
