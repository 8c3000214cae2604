package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// A Memory is all that is known of one.
type Memory struct {
	RID       string  `json:"rid" doc:"The memory's id."`
	Type      string  `json:"type" doc:"The same as memory_type."`
	Kind      string  `json:"memory_type" doc:"What kind of memory it is: semantic, episodic, procedural or a name of the client's own."`
	Text      string  `json:"text" doc:"What it says."`
	Created   float64 `json:"created_at" doc:"When what it says was so, in Unix seconds."`
	CreatedAt string  `json:"created_at_iso" doc:"The same as RFC 3339."`
	Updated   float64 `json:"updated_at" doc:"When it was stored or changed last, in Unix seconds."`
	UpdatedAt string  `json:"updated_at_iso" doc:"The same as RFC 3339."`

	Importance float64 `json:"importance" doc:"How much it matters, from 0 to 1."`
	HalfLife   float64 `json:"half_life" doc:"After how many hours it has faded by half."`
	Accessed   float64 `json:"last_access" doc:"When it was recalled last, in Unix seconds."`
	Accesses   uint64  `json:"access_count" doc:"How often it was recalled."`
	Valence    float64 `json:"valence" doc:"How good or bad it is, from -1 to 1."`
	Certainty  float64 `json:"certainty" doc:"How sure it is, from 0 to 1."`

	Into    *string  `json:"consolidated_into" doc:"The memory that it was merged into."`
	Status  string   `json:"consolidation_status" is:"string{active,consolidated,tombstoned}" doc:"Whether it is recalled: active ones are."`
	Sources []string `json:"consolidation_sources" doc:"The memories that it was merged from."`
	Tier    string   `json:"storage_tier" doc:"hot, or the tier that its client put it in."`

	MetadataText string          `json:"metadata_json" doc:"The metadata as a text."`
	Metadata     json.RawMessage `json:"metadata" doc:"What its client keeps beside it."`
	Namespace    string          `json:"namespace" doc:"Where in the database it is."`
	Domain       string          `json:"domain" doc:"What it is about, as its client named it."`
	Source       string          `json:"source" doc:"Where it comes from."`
	Emotion      *string         `json:"emotional_state" doc:"The feeling that it was stored with."`
	Session      *string         `json:"session_id" doc:"The session that it joined."`
	Due          *float64        `json:"due_at" doc:"When it is due, in Unix seconds."`
	TemporalKind *string         `json:"temporal_kind" doc:"What its date means, as its client named it."`
	Reason       *string         `json:"tombstone_reason" doc:"Why it was forgotten."`
	Revision     uint32          `json:"revision" doc:"How often it was corrected."`
	Model        *string         `json:"embedding_model" doc:"What made its vector."`
	VectorBytes  *int            `json:"embedding_bytes" doc:"How large its vector is."`
	Entities     []string        `json:"entities" doc:"What its text names."`
	Claims       []string        `json:"claims" doc:"The claims that were read from its text."`
}

// Memories.
var (
	Remember = row[RememberRequest, Remembered](Op{Name: "remember", Does: "Store a memory.", Scope: Write, Writes: true, HTTP: "POST /v1/remember", Wire: wire.OpRemember,
		Adds: func(any) int { return 1 },
		Tool: &Tool{Name: "remember", Title: "Remember", Text: "Store one fact, decision, preference or event so that it is there in later conversations. Write it as a sentence that stands by itself: who, what, when. " +
			"Use it when the user says something worth keeping, when a decision is made, and when you learn how something works. Never store secrets."}})
	RememberBatch = row[RememberBatchRequest, RememberedBatch](Op{Name: "remember_batch", Does: "Store memories, all or none.", Scope: Write, Writes: true,
		HTTP: "POST /v1/remember/batch", Large: true, Wire: wire.OpRememberBatch, Cost: memories, Adds: memories})

	Forget = row[ForgetRequest, Forgotten](Op{Name: "forget", Does: "Make a memory invisible to recall and lists; it can still be read by its id until it is purged.",
		Scope: Write, Writes: true, HTTP: "POST /v1/forget", Wire: wire.OpForget,
		Tool: &Tool{Name: "forget", Title: "Forget", Destructive: true, Idempotent: true,
			Text: "Make a memory invisible for good. Use it when the user asks for it, or when a memory should never have been stored."}})
	Correct = row[CorrectRequest, Corrected](Op{Name: "correct", Does: "Change a memory in place; what it was is kept as a revision.",
		Scope: Write, Writes: true, HTTP: "POST /v1/correct", Missing: "memory_not_found",
		Tool: &Tool{Name: "correct", Title: "Correct a memory", Destructive: true,
			Text: "Change a memory that is wrong or out of date. What it said before is kept as a revision. Prefer it to forgetting and storing anew."}})

	Get       = row[GetRequest, Memory](Op{Name: "memory", Does: "One memory, whatever became of it.", Scope: Read, HTTP: "GET /v1/memory/{rid}", Missing: "memory_not_found"})
	Revisions = row[RevisionsRequest, RevisionList](Op{Name: "revisions", Does: "What a memory was before each correction, oldest first.", Scope: Read, HTTP: "GET /v1/memory/{rid}/revisions", Missing: "memory_not_found"})
	Current   = row[CurrentRequest, CurrentMemory](Op{Name: "current", Does: "The newest memory of a namespace.", Scope: Read, HTTP: "GET /v1/current", Missing: "memory_not_found"})
)

// memories is how many a batch holds.
func memories(request any) int { return len(request.(*RememberBatchRequest).Memories) }

// A Draft is a memory as a client gives it.
type Draft struct {
	Text       string          `json:"text" tool:"content,memory" is:"string!" doc:"What to remember: a sentence that stands by itself." example:"Ada prefers tea to coffee."`
	Type       string          `json:"memory_type" tool:"type" default:"semantic" doc:"What kind of memory it is: semantic, episodic, procedural or a name of your own."`
	Importance float64         `json:"importance" is:"unit" default:"0.5" doc:"How much it matters, from 0 to 1."`
	Valence    float64         `json:"valence" is:"signed" doc:"How good or bad it is, from -1 to 1."`
	HalfLife   float64         `json:"half_life" is:"hours" default:"168" doc:"After how many hours it has faded by half."`
	Metadata   json.RawMessage `json:"metadata" default:"{}" doc:"JSON of your own, kept beside it."`
	Namespace  string          `json:"namespace" doc:"Where in the database it goes; blank for default."`
	Certainty  float64         `json:"certainty" is:"unit" default:"1" doc:"How sure it is, from 0 to 1."`
	Domain     string          `json:"domain" doc:"What it is about, such as work or health."`
	Source     string          `json:"source" default:"user" doc:"Where it comes from."`
	Emotion    string          `json:"emotional_state" doc:"The feeling that goes with it."`
	Embedding  field.Vector    `json:"embedding" tool:"-" doc:"Its vector, of the database's dimension; made by the database's embedder when it is left out."`
	Session    string          `json:"session_id" tool:"-" doc:"The session that it joins; the namespace's active one when it is left out."`
	Created    field.Date      `json:"created_at" doc:"When what it says was so; now when it is left out."`
	Due        field.Date      `json:"due_at" doc:"When it is due."`
	Temporal   string          `json:"temporal_kind" tool:"-" doc:"What its date means: a word of your own."`
	Tier       string          `json:"tier" tool:"-" doc:"working, episodic or longterm, which fade by different rules; or a word of your own."`
	Key        string          `json:"idempotency_key" is:"key" doc:"Of this memory: a second request with it stores nothing twice."`

	RID     string `json:"-"` // made by the node when it is blank
	Owner   string `json:"-"`
	Speaker string `json:"-"`
}

type RememberRequest struct{ Draft }

// Remembered is what became of a memory. Where its key was used for another one before, Stored is false.
type Remembered struct {
	RID      string      `json:"rid" doc:"The memory's id."`
	Index    oplog.Index `json:"log_index,omitzero" doc:"Where in the log the write is."`
	Stored   *bool       `json:"stored,omitempty" doc:"false: the idempotency key was used for another memory, which rid names."`
	Conflict bool        `json:"idempotency_conflict,omitempty" doc:"true: the idempotency key was used for another memory."`

	Replayed bool `json:"-"` // the key answered: the memory was stored before
}

type RememberBatchRequest struct {
	Memories []Draft `json:"memories" is:"!" doc:"The memories, at most 10,000."`
	Key      string  `json:"idempotency_key" is:"key" doc:"Of the batch: memories without a key of their own get this one with their place, so that a second request stores nothing twice."`

	Whole string `json:"-"` // a key of the batch as a whole: it was stored or it was not
}

type RememberedBatch struct {
	RIDs  []string    `json:"rids" doc:"The memories' ids, in the order of the request."`
	Count int         `json:"count" doc:"How many were stored."`
	Index oplog.Index `json:"log_index" doc:"Where in the log the write is."`

	Replayed bool `json:"-"`
}

type ForgetRequest struct {
	RID    string `json:"rid" tool:"id,memory_id" is:"string!" doc:"The memory's id."`
	Reason string `json:"reason" doc:"Why, for those who look at it later."`
	_      string `idle:"namespace" tool:"-"`
}

type Forgotten struct {
	RID   string      `json:"rid" doc:"The memory's id."`
	Found bool        `json:"found" doc:"Whether there was one to forget."`
	Index oplog.Index `json:"log_index" doc:"Where in the log the write is."`
}

type CorrectRequest struct {
	RID        string       `json:"rid" tool:"id,memory_id" is:"string!" doc:"The memory's id."`
	Reason     string       `json:"reason" is:"string!" doc:"Why it changes, for those who read its revisions."`
	Text       *string      `json:"new_text" tool:"text,content" doc:"What it says from now on."`
	Importance *float64     `json:"new_importance" is:"unit" doc:"How much it matters from now on, from 0 to 1."`
	Valence    *float64     `json:"new_valence" is:"signed" doc:"How good or bad it is from now on, from -1 to 1."`
	Merge      field.Map    `json:"metadata_merge" doc:"Members that replace those of its metadata; null removes one."`
	Embedding  field.Vector `json:"embedding" tool:"-" doc:"The vector of the new text; made by the database's embedder when it is left out."`

	Certainty *float64 `json:"-"`
}

type Corrected struct {
	RID       string      `json:"rid" doc:"The memory's id."`
	Corrected string      `json:"corrected_rid" doc:"The same."`
	Original  string      `json:"original_rid" doc:"The same."`
	Revision  uint64      `json:"revision" doc:"How often it was corrected."`
	Index     oplog.Index `json:"log_index" doc:"Where in the log the write is."`
}

type GetRequest struct {
	RID string `json:"rid" in:"path" doc:"The memory's id."`
	_   string `idle:"namespace"`
	Fresh
}

type RevisionsRequest struct {
	RID string `json:"rid" in:"path" doc:"The memory's id."`
	Fresh
}

type RevisionList struct {
	RID       string     `json:"rid" doc:"The memory's id."`
	Revisions []Revision `json:"revisions" doc:"The oldest first."`
}

// A Revision is what a memory was before a correction.
type Revision struct {
	Number     uint32  `json:"revision" doc:"Which one it is, from 0."`
	Text       string  `json:"text" doc:"What it said."`
	Importance float64 `json:"importance" doc:"How much it mattered."`
	Valence    float64 `json:"valence" doc:"How good or bad it was."`
	Certainty  float64 `json:"certainty" doc:"How sure it was."`
	Reason     string  `json:"reason" doc:"Why it was corrected."`
	Until      float64 `json:"until" doc:"When it was, in Unix seconds."`
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
