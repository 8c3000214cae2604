package api

import "github.com/cairndb/cairn/oplog"

// What the console asks for.
var (
	Timeline = row[TimelineRequest, MemoryList](Op{Name: "timeline", Does: "What was stored shortly before and after a memory, oldest first.", Scope: Read,
		HTTP: "GET /v1/memory/{rid}/timeline", Missing: "memory_not_found"})
	Entities = row[EntitiesRequest, EntityList](Op{Name: "entities", Does: "Names that memories, relations and claims mention.", Scope: Read, HTTP: "GET /v1/entities"})
	Compare  = row[CompareRequest, Comparison](Op{Name: "recall_compare", Does: "The same question to every node: equal indexes give equal answers.", Scope: Read, HTTP: "POST /v1/recall/compare"})
)

// What models ask for that no other surface offers in this form.
var (
	Around = row[AroundRequest, MemoryList](Op{Name: "around", Does: "What was stored shortly before and after a memory, or the newest.", Scope: Read,
		Tool: &Tool{Name: "timeline", Title: "Timeline", ReadOnly: true, Idempotent: true,
			Text: "What was stored shortly before and after a memory, oldest first. Without a rid: the newest memories. Use it to see the course of events around something."}})
	Status = row[StatusRequest, StatusAnswer](Op{Name: "status", Does: "How many memories there are, and whether the memory takes writes.", Scope: Read,
		Tool: &Tool{Name: "status", Title: "Status", ReadOnly: true, Idempotent: true, Text: "How many memories there are, and whether the memory takes writes."}})
)

type AroundRequest struct {
	RID       string `json:"rid" tool:"id,memory_id" doc:"The memory that others are wanted around; without it, the newest are given."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"10" doc:"At most so many memories."`
	Namespace string `json:"namespace" doc:"Only memories of this namespace, where no rid is given."`
}

type StatusRequest struct{}

type StatusAnswer struct {
	Active   uint64 `json:"active_memories" doc:"How many memories can be recalled."`
	Entities uint64 `json:"entities" doc:"How many names are known."`
	Edges    uint64 `json:"edges" doc:"How many relations are known."`
	Database string `json:"database" doc:"The database of this token."`
	Writes   bool   `json:"accepts_writes" doc:"Whether a leader is known, which takes writes."`
	NodeID   uint32 `json:"node_id" doc:"The node that answers."`
}

type TimelineRequest struct {
	RID   string `json:"rid" in:"path" doc:"The memory's id."`
	Limit int    `json:"limit" is:"integer[0..]" default:"5" doc:"How many before and after it, up to 100."`
}

type MemoryList struct {
	Memories []Memory `json:"memories" doc:"The oldest first."`
}

type EntitiesRequest struct {
	Limit int `json:"limit" is:"integer[0..]" default:"100" doc:"At most so many names, up to 1,000."`
}

type EntityList struct {
	Entities []Entity `json:"entities" doc:"In the order of their names."`
}

// An Entity is a name that memories, relations or claims mention.
type Entity struct {
	Name     string  `json:"name" doc:"The name."`
	Type     string  `json:"type" doc:"What it seems to be: person, place, organisation and the like."`
	Mentions uint64  `json:"mentions" doc:"How often it is mentioned."`
	Last     float64 `json:"last_seen" doc:"When it was mentioned last, in Unix seconds."`
}

type CompareRequest struct {
	Question
	_ bool `idle:"explain"`
}

type Comparison struct {
	Nodes []Compared `json:"nodes" doc:"What each node says."`
	Equal bool       `json:"equal" doc:"Whether all answer, and answer the same."`
}

// Compared is what one node says to a question.
type Compared struct {
	NodeID uint32      `json:"node_id" doc:"The node's number."`
	Index  oplog.Index `json:"index,omitempty" doc:"Its answer reflects the log up to here."`
	Total  int         `json:"total" doc:"How many memories it finds."`
	Digest string      `json:"digest,omitempty" doc:"Of their ids and scores, in order."`
	Error  string      `json:"error,omitempty" doc:"Why there is no answer."`
}
