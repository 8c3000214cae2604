package api

import "github.com/cairndb/cairn/wire/field"

// Curation: memories merged, split and moved. Undo takes each back.
var (
	Merge = row[MergeRequest, Merged](Op{Name: "merge", Bound: Narrowed, Scope: Write, Writes: true, HTTP: "POST /v1/merge",
		Missing: "memory_not_found",
		Does: "Merge memories of one namespace into a new one with a text of yours. The new one has the highest importance and the lowest certainty of its sources, the attributes that they share, and their entities. " +
			"The sources stay readable by id, lead to the new one, and lose their keys. undo of any of them takes the merge back.",
		Tool: &Tool{Name: "merge", Title: "Merge memories", Full: true, Destructive: true,
			Text: "Make one memory of several that say the same or belong together. Write the text of the new one; the others are no longer recalled. undo takes it back."}})
	Split = row[SplitRequest, Splitted](Op{Name: "split", Bound: Narrowed, Scope: Write, Writes: true,
		HTTP: "POST /v1/split", Missing: "memory_not_found",
		Adds: func(request any) int { return len(request.(*SplitRequest).Texts) },
		Does: "Split a memory into several, each with a text of yours and the fields of the source. The source stays readable by id, leads to the new ones, and loses its key. undo of any of them takes the split back.",
		Tool: &Tool{Name: "split", Title: "Split a memory", Full: true, Destructive: true,
			Text: "Make several memories of one that says several things. Write each as a sentence that stands by itself; the source is no longer recalled. undo takes it back."}})
	Move = row[MoveRequest, Moved](Op{Name: "move", Bound: Single, Scope: Write, Writes: true, HTTP: "POST /v1/move",
		Missing: "memory_not_found",
		Does:    "Move memories to another namespace: one by its id, or all below a key, at most 1,000, all or none. They keep their ids, keys and revisions. undo moves a memory back.",
		Tool: &Tool{Name: "move", Title: "Move to a namespace", Full: true,
			Text: "Move a memory, or those below a key, to another namespace. undo moves a memory back."}})
)

type MergeRequest struct {
	RIDs     []string `json:"rids" names:"memory" is:"[]rid!" doc:"Ids of the memories to merge, 2 to 100." example:"[\"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12\",\"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e13\"]"`
	Text     string   `json:"text" is:"string!" doc:"The text of the new memory." example:"Ada prefers tea to coffee, green tea most."`
	Reason   string   `json:"reason" doc:"The reason, shown with the revisions of the sources."`
	Expected []uint32 `json:"expected_revisions" tool:"-" doc:"The revision that each must be at, in the order of rids; otherwise the request fails with the code revision_conflict."`
	Key      string   `json:"idempotency_key" tool:"-" is:"key" doc:"Idempotency key: repeating the request with it merges nothing twice."`
}

type Merged struct {
	RID      string      `json:"rid" is:"rid" doc:"The new memory's id."`
	Sources  []string    `json:"merged" is:"[]rid" doc:"The memories that were merged."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type SplitRequest struct {
	RID      string   `json:"rid" names:"memory" tool:"id,memory_id" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Texts    []string `json:"texts" is:"[]string!" doc:"The texts of the new memories, 2 to 100." example:"[\"Ada prefers tea.\",\"Ada plays chess.\"]"`
	Reason   string   `json:"reason" doc:"The reason, shown with the revisions of the source."`
	Expected *uint32  `json:"expected_revision" tool:"-" is:"integer[0..]" doc:"The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict."`
	Key      string   `json:"idempotency_key" tool:"-" is:"key" doc:"Idempotency key: repeating the request with it splits nothing twice."`
}

type Splitted struct {
	RID      string      `json:"rid" is:"rid" doc:"The memory that was split."`
	RIDs     []string    `json:"rids" is:"[]rid" doc:"The new memories, in the order of the texts."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type MoveRequest struct {
	To        string  `json:"to" names:"namespace" is:"string!" doc:"The namespace to move to." example:"work"`
	RID       string  `json:"rid" names:"memory" tool:"id,memory_id" is:"rid" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Prefix    string  `json:"prefix" doc:"Instead of rid: the memories whose key is this one or below it, such as /people/ada."`
	Namespace string  `json:"namespace" doc:"With prefix: the namespace of the keys, blank for default."`
	Reason    string  `json:"reason" doc:"The reason, shown with the revisions."`
	Expected  *uint32 `json:"expected_revision" tool:"-" is:"integer[0..]" doc:"With rid: the revision that the memory must be at; otherwise the request fails with the code revision_conflict."`
	Key       string  `json:"idempotency_key" tool:"-" is:"key" doc:"Idempotency key: repeating the request with it moves nothing twice."`
}

type Moved struct {
	Moved int         `json:"moved" doc:"Number of memories that were moved."`
	RIDs  []string    `json:"rids" is:"[]rid" doc:"Their ids."`
	To    string      `json:"namespace" doc:"The namespace that they are in now."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}
