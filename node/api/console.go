package api

import "github.com/cairndb/cairn/oplog"

// Operations of the console.
var (
	Timeline = row[TimelineRequest, MemoryList](Op{Name: "timeline", Bound: Narrowed,
		Does: "Memories stored shortly before and after a memory, oldest first.", Scope: Read,
		HTTP: "GET /v1/memory/{rid}/timeline", Missing: "memory_not_found"})
	Entities = row[EntitiesRequest, EntityList](Op{Name: "entities", Bound: Narrowed,
		Does: "Names that memories, relations and claims mention.", Scope: Read, HTTP: "GET /v1/entities"})
	Compare = row[CompareRequest, Comparison](Op{Name: "recall_compare", Bound: Narrowed,
		Does: "Ask every node the same question: nodes at the same index give the same answer.", Scope: Read,
		HTTP: "POST /v1/recall/compare"})
)

// Operations that only models need in this form.
var (
	Around = row[AroundRequest, MemoryList](Op{Name: "around", Bound: Narrowed,
		Does: "Memories stored shortly before and after a memory, or the newest ones.", Scope: Read,
		Tool: &Tool{Name: "timeline", Title: "Timeline", ReadOnly: true, Idempotent: true,
			Text: "What was stored shortly before and after a memory, oldest first. Without a rid: the newest memories. Use it to see how something came about. " + QuotedData}})
	Status = row[ReadRequest, StatusAnswer](Op{Name: "status", Bound: Narrowed, Node: true,
		Does: "How many memories there are, and whether new ones can be stored.", Scope: Read,
		Tool: &Tool{Name: "status", Title: "Status", ReadOnly: true, Idempotent: true,
			Text: "How many memories there are, and whether new ones can be stored."}})
)

type AroundRequest struct {
	RID       string `json:"rid" names:"memory" is:"rid" tool:"id,memory_id" doc:"The memory whose neighbours in time to return; without it, the newest memories are returned."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"10" doc:"Most memories to return."`
	Namespace string `json:"namespace" doc:"Only this namespace, where no rid is given."`
	Fresh
}

type StatusAnswer struct {
	Active   uint64 `json:"active_memories" doc:"Number of memories that a recall searches."`
	Entities uint64 `json:"entities" doc:"Number of known names."`
	Edges    uint64 `json:"edges" doc:"Number of known relations."`
	Database string `json:"database" doc:"The database of this token."`
	Writes   bool   `json:"accepts_writes" doc:"Whether a leader is known, so that writes are accepted."`
	NodeID   uint32 `json:"node_id" tool:"-" doc:"The node that answers."`
}

type TimelineRequest struct {
	RID   string `json:"rid" names:"memory" is:"rid" in:"path" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Limit int    `json:"limit" is:"integer[0..]" default:"5" doc:"Number of memories to return on each side of it, up to 100."`
	Fresh
}

type MemoryList struct {
	Left bool `json:"left_out,omitempty" doc:"true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows."`
	Bounded
	Memories []Memory `json:"memories" doc:"The oldest first."`
}

type EntitiesRequest struct {
	Namespace string `json:"namespace" doc:"Only names in the newest 10,000 memories of this namespace; blank for all."`
	Search    string `json:"search" doc:"Only names that contain this text, in any case. A page searches 10,000 names for parts; next continues. A full name is searched in all."`
	Sort      string `json:"sort" is:"string{name,mentions}" default:"name" doc:"The order: by name, or by mentions, the most mentioned of the first 10,000 names first."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"100" doc:"Most names to return, up to 1,000."`
	After     string `json:"after" doc:"The previous page's next; blank for the first page. Only for the order of names."`
	Fresh
}

type EntityList struct {
	Entities []Entity `json:"entities" doc:"Rows in the requested order."`
	Next     *string  `json:"next" doc:"Pass it as after to get the next page; null at the end, and in another order than that of names. A page may have few rows or none, and a next."`
	Bounded
}

// An Entity is a name that memories, relations or claims mention.
type Entity struct {
	Name     string  `json:"name" doc:"The name."`
	Type     string  `json:"type" doc:"Its kind: person, place, organisation and so on."`
	Mentions uint64  `json:"mentions" doc:"Number of mentions."`
	Last     float64 `json:"last_seen" is:"time" doc:"When it was mentioned last, in Unix seconds."`
}

type CompareRequest struct {
	Question
	_ bool `idle:"explain"`
	Fresh
}

type Comparison struct {
	Nodes []Compared `json:"nodes" doc:"The answer of each node."`
	Equal bool       `json:"equal" doc:"Whether all nodes answered, and answered the same."`
}

// Compared holds one node's answer to a question.
type Compared struct {
	NodeID uint32      `json:"node_id" doc:"The node's number."`
	Index  oplog.Index `json:"index,omitempty" doc:"Log index that its answer reflects."`
	Total  int         `json:"total" doc:"Number of memories that the node found."`
	Digest string      `json:"digest,omitempty" doc:"Hash of their ids and scores, in order."`
	Error  string      `json:"error,omitempty" doc:"Why the node did not answer."`
}
