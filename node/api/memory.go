package api

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Memories.
var (
	Remember = row[RememberRequest, Remembered](Op{Name: "remember", Bound: Single, Waits: true,
		Does: "Store a memory. To store it under a key of your own, or to replace what a key has, use put.", Scope: Write,
		Writes: true, HTTP: "POST /v1/remember", Wire: wire.OpRemember,
		Adds: func(any) int { return 1 },
		Tool: &Tool{Name: "remember", Title: "Remember",
			Text: "Store one fact, decision, preference or event so that it is there in later conversations. Write it as a sentence that stands by itself: who, what, when. " +
				"Use it when the user says something worth keeping, when a decision is made, and when you learn how something works. Never store secrets. " +
				"If near in the answer lists a memory that the new one replaces, correct that one with the new text and forget the new one."}})
	RememberBatch = row[RememberBatchRequest, RememberedBatch](Op{Name: "remember_batch", Bound: Single, Waits: true,
		Does: "Store memories, all or none.", Scope: Write, Writes: true,
		HTTP: "POST /v1/remember/batch", Large: true, Wire: wire.OpRememberBatch, Adds: memories})

	Forget = row[ForgetRequest, Forgotten](Op{Name: "forget", Bound: Narrowed,
		Does:  "Make a memory invisible to recall and lists; it can still be read by its id until it is purged.",
		Scope: Write, Writes: true, HTTP: "POST /v1/forget", Wire: wire.OpForget, Confirm: "rid",
		Tool: &Tool{Name: "forget", Title: "Forget", Destructive: true, Idempotent: true,
			Text: "Hide a memory; this cannot be undone. Use it when the user asks for it, or when a memory should never have been stored."}})
	ForgetMatching = row[ForgetMatchingRequest, ForgottenMatching](Op{Name: "forget_matching", Bound: Narrowed, Scope: Write,
		Writes: true, HTTP: "POST /v1/forget/matching", Confirm: "filter",
		Does: "Forget the newest memories that pass a filter, all of them or none; repeat while the answer has more. A memory that was corrected meanwhile and no longer passes is not forgotten, and neither is one with searchable false.",
		Cost: func(request any) int { return 1 + request.(*ForgetMatchingRequest).Limit/100 }})
	Correct = row[CorrectRequest, Corrected](Op{Name: "correct", Bound: Narrowed,
		Does:  "Change a memory in place; the old text is kept as a revision.",
		Scope: Write, Writes: true, HTTP: "POST /v1/correct", Missing: "memory_not_found",
		Tool: &Tool{Name: "correct", Title: "Correct a memory", Destructive: true,
			Text: "Change a memory that is wrong or out of date. The old text is kept as a revision. Prefer it to forgetting and storing another one."}})
	Undo = row[UndoRequest, Undone](Op{Name: "undo", Bound: Narrowed,
		Does: "Restore a memory to the state before a correction or a move; its current text is kept as a revision, so that this can be undone too. " +
			"Of a memory that was merged or split, or made by that and not corrected since, it takes the merge or split back: what was made is forgotten, and the sources are recalled again, with their keys. A vector that a client sent with the old text is not restored. A class of trust that sank with the other text rises again, as far as whoever wrote the old one is trusted.",
		Scope: Write, Writes: true, HTTP: "POST /v1/undo", Missing: "memory_not_found", Confirm: "rid",
		Tool: &Tool{Name: "undo", Title: "Undo a change", Full: true,
			Text: "Take back the last correction of a memory, a merge, a split or a move, or go back to an earlier revision that history lists."}})

	Get = row[GetRequest, Memory](Op{Name: "memory", Bound: Narrowed,
		Does: "One memory, even if it was merged or forgotten.", Scope: Read, HTTP: "GET /v1/memory/{rid}", Missing: "memory_not_found"})
	Revisions = row[RevisionsRequest, RevisionList](Op{Name: "revisions", Bound: Narrowed,
		Does: "A memory's earlier texts, one before each correction, oldest first.", Scope: Read,
		HTTP: "GET /v1/memory/{rid}/revisions", Missing: "memory_not_found",
		Tool: &Tool{Name: "history", Title: "History of a memory", Full: true, ReadOnly: true, Idempotent: true,
			Text: "What a memory said before each of its corrections, and why it was corrected. " + QuotedData}})
	Current = row[CurrentRequest, CurrentMemory](Op{Name: "current", Bound: Single,
		Does: "The newest memory of a namespace that recall finds.", Scope: Read, HTTP: "GET /v1/current", Missing: "memory_not_found"})
)

// memories returns the number of memories in a batch.
func memories(request any) int { return len(request.(*RememberBatchRequest).Memories) }

type RememberRequest struct {
	Draft
	Near bool `json:"near" core:"-" tooldefault:"true" doc:"Report older memories that this one may replace, at the cost of a search. By default only the tools of models do."`
}

// Near is a memory that a new one may replace.
type Near struct {
	RID     string  `json:"rid" is:"rid" doc:"The memory's id."`
	Text    string  `json:"text" doc:"Its text, or the first 500 letters."`
	Created float64 `json:"created_at" is:"time" doc:"When it happened, in Unix seconds."`
	Score   float64 `json:"score" doc:"How likely it says the same as the new one, from 0 to 1."`
}

// ReusedKey holds the fields of HTTP's answer to a remember whose idempotency key was used with another text.
type ReusedKey struct {
	Stored   *bool  `json:"stored,omitempty" doc:"false: nothing was stored, because idempotency_key was used with another text; rid is the memory that was stored with it. Absent otherwise."`
	Conflict bool   `json:"idempotency_conflict,omitempty" doc:"true: the same; absent otherwise."`
	Error    string `json:"error,omitempty" doc:"Why nothing was stored; absent when it was."`
	Code     string `json:"code,omitempty" doc:"conflict when nothing was stored; absent otherwise."`
}

// Remembered is the result of storing a memory.
type Remembered struct {
	ReusedKey
	RID        string      `json:"rid" is:"rid" doc:"The memory's id."`
	Index      field.Token `json:"log_index,omitzero" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted   []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
	Near       []Near      `json:"near,omitempty" doc:"Memories that this one may replace, at most three, of the same namespace; absent when there are none, or near was not set. An answer that an idempotency key repeats may lack them."`
	Superseded []string    `json:"superseded,omitempty" is:"[]rid" doc:"Older memories that this one contradicts or updates: recall ranks this one before them. undo of such a memory makes it current again."`
	By         string      `json:"superseded_by,omitempty" is:"rid" doc:"A newer memory that replaces this one, which has an earlier date; absent when this one is current."`
	Held       bool        `json:"quarantined,omitempty" doc:"true: it waits in quarantine, as the token's policy wants, until an owner releases it; absent when recall finds it now."`

	Replayed bool `json:"-"` // an earlier request with the same key had stored the memory
}

type RememberBatchRequest struct {
	Memories []Draft `json:"memories" is:"!" doc:"The memories, at most 10,000."`
	Key      string  `json:"idempotency_key" is:"key" doc:"Idempotency key of the batch: a memory without its own key gets this key plus its position, so repeating the request stores nothing twice."`

	Whole string `json:"-"` // an idempotency key of the whole batch
}

// Keys returns the idempotency key of the memory.
func (q *RememberRequest) Keys() []string { return []string{q.Draft.Key} }

// Keys returns the idempotency keys of the memories.
func (q *RememberBatchRequest) Keys() []string {
	keys := make([]string, len(q.Memories))
	for i := range q.Memories {
		if keys[i] = cmp.Or(q.Whole, q.Memories[i].Key); keys[i] == "" && q.Key != "" {
			keys[i] = q.KeyOf(i)
		}
	}
	return keys
}

// KeyOf returns the idempotency key of a memory without its own, in a batch that has one.
func (q *RememberBatchRequest) KeyOf(i int) string { return fmt.Sprintf("%s:%d", q.Key, i) }

type RememberedBatch struct {
	RIDs  []string    `json:"rids" is:"[]rid" doc:"The memories' ids, in the order of the request."`
	Count int         `json:"count" doc:"Number of memories stored."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`

	Redacted   []string `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
	Superseded []string `json:"superseded,omitempty" is:"[]rid" doc:"Older memories that these replace."`
	Held       int      `json:"quarantined,omitempty" doc:"Number of these memories that wait in quarantine until an owner releases them."`
	Replayed   bool     `json:"-"`
}

type ForgetRequest struct {
	RID    string `json:"rid" names:"memory" tool:"id,memory_id" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason string `json:"reason" doc:"The reason, for later readers."`
	_      string `idle:"namespace" tool:"-"`
}

type Forgotten struct {
	RID   string      `json:"rid" is:"rid" doc:"The memory's id."`
	Found bool        `json:"found" doc:"Whether such a memory existed."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type ForgetMatchingRequest struct {
	Filter    field.Map `json:"filter" is:"object!" doc:"The filter, as in a recall. An empty filter, which every memory passes, is rejected." example:"{\"project\":\"atlas\"}"`
	Namespace string    `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int       `json:"limit" is:"integer[1..1000]" default:"1000" doc:"Most memories to forget."`
	Reason    string    `json:"reason" doc:"The reason, for later readers."`
}

type ForgottenMatching struct {
	Forgotten int         `json:"forgotten" doc:"Number of memories that were forgotten."`
	RIDs      []string    `json:"rids" is:"[]rid" doc:"Their ids, the newest first."`
	More      bool        `json:"more" doc:"Whether others may pass the filter."`
	Index     field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type CorrectRequest struct {
	RID        string       `json:"rid" names:"memory" tool:"id,memory_id" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason     string       `json:"reason" is:"string!" doc:"The reason for the change, shown with its revisions." example:"Alice moved on"`
	Text       *string      `json:"new_text" tool:"text,content" doc:"The new text."`
	Importance *float64     `json:"new_importance" is:"unit" doc:"New importance, from 0 to 1."`
	Valence    *float64     `json:"new_valence" core:"-" is:"signed" doc:"New emotional valence, from -1 (bad) to 1 (good)."`
	Pin        *bool        `json:"new_pin" doc:"true pins the memory, false unpins it."`
	Expires    field.Date   `json:"new_expires_at" doc:"When it expires from now on."`
	TTL        *float64     `json:"new_ttl" core:"-" is:"seconds" doc:"Seconds until it expires, instead of new_expires_at; 0: it no longer expires."`
	Searchable *bool        `json:"new_searchable" core:"-" doc:"false removes it from the search index, true adds it."`
	Attributes field.Map    `json:"new_attributes" core:"-" doc:"Attributes that replace all it has; {} removes them."`
	Merge      field.Map    `json:"metadata_merge" core:"-" doc:"Metadata keys to replace; null removes a key."`
	Embedding  field.Vector `json:"embedding" tool:"-" doc:"The vector of the new text, or of the text as it is; the database's embedder makes it when it is omitted."`
	Expected   *uint32      `json:"expected_revision" tool:"-" is:"integer[0..]" doc:"The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict."`
	Key        string       `json:"idempotency_key" tool:"-" is:"key" doc:"Idempotency key: repeating the request with it corrects nothing twice."`

	Certainty *float64 `json:"-"`
}

type Corrected struct {
	RID        string      `json:"rid" is:"rid" doc:"The memory's id."`
	Corrected  string      `json:"corrected_rid" tool:"-" is:"rid" doc:"The same as rid."`
	Original   string      `json:"original_rid" tool:"-" is:"rid" doc:"The same as rid."`
	Revision   uint64      `json:"revision" doc:"Number of corrections."`
	Index      field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted   []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
	Superseded []string    `json:"superseded,omitempty" is:"[]rid" doc:"Memories that the new text supersedes."`
	By         string      `json:"superseded_by,omitempty" is:"rid" doc:"The newer memory that replaces this one still: correct that one if the new text is what holds now. Absent when this one is current."`
	Check      []Edge      `json:"relations_to_check,omitempty" doc:"Stated relations of names that are in the old text and not in the new one: use unrelate to remove those that no longer hold."`
}

type UndoRequest struct {
	RID      string  `json:"rid" names:"memory" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Revision *uint32 `json:"revision" is:"integer[0..]" doc:"The number of the revision to go back to. Default: the one before the last correction."`
	Reason   string  `json:"reason" doc:"The reason, shown with its revisions."`
	Expected *uint32 `json:"expected_revision" is:"integer[0..]" doc:"The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict."`
	Key      string  `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it undoes nothing twice."`
}

type Undone struct {
	RID      string      `json:"rid" is:"rid" doc:"The memory's id."`
	Text     string      `json:"text" doc:"Its text after the undo."`
	Restored uint32      `json:"restored" doc:"The revision that it went back to."`
	Revision uint64      `json:"revision" doc:"Number of corrections, this one included."`
	Back     []string    `json:"recalled_again,omitempty" is:"[]rid" doc:"Of a merge or a split: the sources, which recall finds again."`
	Gone     []string    `json:"forgotten,omitempty" is:"[]rid" doc:"Of a merge or a split: the memories that it had made."`
	Missing  bool        `json:"embedding_missing,omitempty" doc:"true: the memory has no vector now, because clients bring the vectors of this database and that of an earlier text is not kept. Send it with correct."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type GetRequest struct {
	RID     string `json:"rid" names:"memory" is:"rid" in:"path" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	_       string `idle:"namespace"`
	Sources bool   `json:"sources" doc:"Also return the memories that it was made of, each with its writer and class of trust."`
	Fresh
}

type RevisionsRequest struct {
	RID    string `json:"rid" names:"memory" is:"rid" in:"path" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Offset int    `json:"offset" is:"integer[0..]" doc:"Number of revisions to skip."`
	Fresh
}

type RevisionList struct {
	RID       string     `json:"rid" is:"rid" doc:"The memory's id."`
	Revisions []Revision `json:"revisions" doc:"The oldest first."`
	Next      *int       `json:"next_offset,omitempty" doc:"Pass it as offset to get the next page; absent at the end."`
}

// A Revision is the state of a memory before a correction.
type Revision struct {
	Number     uint32  `json:"revision" doc:"Number of the revision, from 0."`
	Text       string  `json:"text" doc:"Its text."`
	Importance float64 `json:"importance" doc:"Importance, from 0 to 1."`
	Valence    float64 `json:"valence" doc:"Emotional valence, from -1 (bad) to 1 (good)."`
	Certainty  float64 `json:"certainty" doc:"Certainty, from 0 to 1."`
	Namespace  string  `json:"namespace" doc:"Its namespace."`
	Reason     string  `json:"reason" doc:"Why it was corrected."`
	Until      float64 `json:"until" is:"time" doc:"When it was replaced, in Unix seconds."`
	Erased     float64 `json:"erased_at,omitempty" is:"time" doc:"When what it said was erased for good, in Unix seconds; absent otherwise."`

	Path     string          `json:"-"`
	Metadata json.RawMessage `json:"-"`
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
