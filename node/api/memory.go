package api

import (
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Memories.
var (
	Remember = row[RememberRequest, Remembered](Op{Name: "remember", Does: "Store a memory.", Scope: Write, Writes: true, HTTP: "POST /v1/remember", Wire: wire.OpRemember,
		Adds: func(any) int { return 1 },
		Tool: &Tool{Name: "remember", Title: "Remember", Text: "Store one fact, decision, preference or event so that it is there in later conversations. Write it as a sentence that stands by itself: who, what, when. " +
			"Use it when the user says something worth keeping, when a decision is made, and when you learn how something works. Never store secrets. " +
			"When the answer names a memory in near that the new one replaces, correct that memory with the new text, and forget the one that you have just stored."}})
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

type RememberRequest struct {
	Draft
	Near bool `json:"near" tooldefault:"true" doc:"Name memories that this one may replace, which costs a search. By default it is done for models alone."`
}

// Near is a memory that a new one may replace.
type Near struct {
	RID     string  `json:"rid" doc:"The memory's id."`
	Text    string  `json:"text" doc:"Its text, or the first 500 letters."`
	Created float64 `json:"created_at" is:"time" doc:"When it happened, in Unix seconds."`
	Score   float64 `json:"score" doc:"How likely it says what the new one says, from 0 to 1."`
}

// Remembered is the result of storing a memory.
type Remembered struct {
	RID      string      `json:"rid" doc:"The memory's id."`
	Index    field.Token `json:"log_index,omitzero" doc:"Position of the write in the log; pass it as min_index to read it on another node."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
	Near     []Near      `json:"near,omitempty" doc:"Memories that this one may replace, at most three, of the same namespace; absent when there are none, or nobody asked."`

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
	Index field.Token `json:"log_index" doc:"Position of the write in the log; pass it as min_index to read it on another node."`

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
	Index field.Token `json:"log_index" doc:"Position of the write in the log; pass it as min_index to read it on another node."`
}

type CorrectRequest struct {
	RID        string       `json:"rid" tool:"id,memory_id" is:"string!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason     string       `json:"reason" is:"string!" doc:"The reason for the change, shown with its revisions." example:"Alice moved on"`
	Text       *string      `json:"new_text" tool:"text,content" doc:"The new text."`
	Importance *float64     `json:"new_importance" is:"unit" doc:"New importance, from 0 to 1."`
	Valence    *float64     `json:"new_valence" is:"signed" doc:"New emotional valence, from -1 (bad) to 1 (good)."`
	Pin        *bool        `json:"new_pin" doc:"true pins the memory, false unpins it."`
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
	Index     field.Token `json:"log_index" doc:"Position of the write in the log; pass it as min_index to read it on another node."`
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
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; pass it as min_index to read it on another node."`
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
