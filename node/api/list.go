package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Lists of memories, and their numbers.
var (
	Memories = row[MemoriesRequest, MemoryPage](Op{Name: "memories", Scope: Read, HTTP: "GET /v1/memories",
		Does: "Memories, newest first or sorted among the newest 20000; before pages on from a creation time. total counts the namespace, or the database. " +
			"With kind, drive_id, since_rid or order: records in the order of their ids, paged by next_cursor."})
	Records = row[RecordsRequest, RecordPage](Op{Name: "records", Scope: Read, HTTP: "GET /v1/records", Does: "Records in the order of their ids, paged by next_cursor."})
	Stats   = row[StatsRequest, Counters](Op{Name: "stats", Scope: Read, HTTP: "GET /v1/stats", Wire: wire.OpStats,
		Does: "A database's counters; with namespace those of memories are the namespace's. More with verbose=1."})
)

// A Listing says which memories are wanted. Zero values do not filter.
type Listing struct {
	Namespace string `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Domain    string `json:"domain" doc:"Only memories of this domain."`
	Type      string `json:"memory_type" doc:"Only memories of this kind."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"50" doc:"At most so many, up to 200."`
}

// A Walk goes through active memories in the order of their ids, which is that of their making.
type Walk struct {
	Kind  string `json:"kind" doc:"Only records whose metadata has this kind."`
	Drive string `json:"drive_id" doc:"Only records whose metadata has this drive_id."`
	Since string `json:"since_rid" doc:"The id behind which the page begins: the next_cursor of the page before; blank for the beginning."`
	Order string `json:"order" is:"string{asc,desc}" doc:"asc: the oldest first; otherwise the newest."`
}

type MemoriesRequest struct {
	Listing
	Offset int        `json:"offset" is:"integer[0..]" doc:"How many memories to pass over."`
	Before field.Date `json:"before" doc:"Only memories created before this date."`
	Sort   string     `json:"sort" is:"string{created_at,importance,last_access}" default:"created_at" doc:"The greatest first."`
	Walk
	_ string `idle:"status" is:"string{active}"`

	Walks bool `json:"-"` // records are wanted, in the order of their ids
}

// A MemoryPage holds memories, or the records of a walk.
type MemoryPage struct {
	Limit int `json:"limit" doc:"At most so many are in it."`
	*NewestMemories
	*Walked
}

// NewestMemories are a page of a list.
type NewestMemories struct {
	Total  uint64   `json:"total" doc:"How many active memories the namespace has, or the database."`
	Offset int      `json:"offset" doc:"How many were passed over."`
	Items  []Memory `json:"items" doc:"The newest first, or in the order that was asked for."`
}

// Walked is a page of a walk.
type Walked struct {
	Records []Record `json:"records" doc:"In the order of their ids; fewer than limit where the filters match little."`
	Next    *string  `json:"next_cursor" doc:"The since_rid of the next page; null at the end."`
}

type RecordsRequest struct {
	Listing
	Walk
}

type RecordPage struct {
	Walked
	Limit int `json:"limit" doc:"At most so many are in it."`
}

// A Record is a memory as lists in the order of ids have it.
type Record struct {
	RID        string          `json:"rid" doc:"The memory's id."`
	Text       string          `json:"text" doc:"What it says."`
	Type       string          `json:"memory_type" doc:"What kind of memory it is."`
	Importance float64         `json:"importance" doc:"How much it matters, from 0 to 1."`
	Metadata   json.RawMessage `json:"metadata" doc:"What its client keeps beside it."`
	Namespace  string          `json:"namespace" doc:"Where in the database it is."`
	Created    float64         `json:"created_at" doc:"When what it says was so, in Unix seconds."`
	CreatedAt  string          `json:"created_at_iso" doc:"The same as RFC 3339."`
	Certainty  float64         `json:"certainty" doc:"How sure it is, from 0 to 1."`
	Domain     string          `json:"domain" doc:"What it is about."`
	Source     string          `json:"source" doc:"Where it comes from."`
	Accesses   uint64          `json:"access_count" doc:"How often it was recalled."`
	Accessed   float64         `json:"last_access" doc:"When it was recalled last, in Unix seconds."`
	Tier       string          `json:"storage_tier" doc:"hot, or the tier that its client put it in."`
}

type StatsRequest struct {
	Verbose   bool   `json:"verbose" doc:"More counters."`
	Namespace string `json:"namespace" doc:"Count the memories of this namespace; blank counts the database's."`
}

// Counters are a database's numbers. There are eight for clients that take the object for a record's arguments: none may be added
// that was not asked for.
type Counters struct {
	Active       uint64 `json:"active_memories" doc:"Memories that are recalled."`
	Consolidated uint64 `json:"consolidated_memories" doc:"Memories that were merged into others."`
	Tombstoned   uint64 `json:"tombstoned_memories" doc:"Memories that were forgotten and are not purged."`
	Edges        uint64 `json:"edges" doc:"Relations."`
	Entities     uint64 `json:"entities" doc:"Names that memories or relations have."`
	Operations   uint64 `json:"operations" doc:"Operations that were ever applied to the database."`
	Conflicts    uint64 `json:"open_conflicts" doc:"Contradictions that are not resolved."`
	Triggers     uint64 `json:"pending_triggers" doc:"Matters that deserve attention."`
	*MoreCounters
}

// MoreCounters are for those who ask for them. What is counted one by one is counted up to 10,000.
type MoreCounters struct {
	Archived int    `json:"archived_memories" doc:"Always 0: no memory is archived, all of them are searched."`
	Resolved int    `json:"resolved_conflicts" doc:"Contradictions that were resolved or dismissed, up to 10,000."`
	Patterns int    `json:"active_patterns" doc:"Regularities that were seen, up to 10,000."`
	Rows     int    `json:"scoring_cache_entries" doc:"Memories in this node's index."`
	Vectors  int    `json:"vec_index_entries" doc:"Vectors in this node's index."`
	Claims   uint64 `json:"claims" doc:"Claims."`
	Applied  uint64 `json:"applied_index" doc:"How far in the log this node's state is."`
	Indexed  uint64 `json:"indexed_index" doc:"How far in the log this node's index is."`
}
