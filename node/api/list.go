package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Lists and numbers of memories.
var (
	Memories = row[MemoriesRequest, MemoryPage](Op{Name: "memories", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/memories",
		Does: "Memories, newest first, or the newest 20,000 sorted by a field. total counts the namespace, or the database. " +
			"To walk through all memories pass the cursor of each page, or use records; with kind, drive_id, since_rid or order this returns what records returns."})
	Records = row[RecordsRequest, RecordPage](Op{Name: "records", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/records",
		Does: "All memories in the order of their ids, page by page: pass the next_cursor of each page as since_rid, until it is null."})
	Namespaces = row[NamespacesRequest, NamespacePage](Op{Name: "namespaces", Bound: Narrowed, Scope: Read,
		HTTP: "GET /v1/namespaces", Does: "The namespaces of a database, and how many memories each has."})

	IDs = row[IDsRequest, IDsAnswer](Op{Name: "ids", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/ids",
		Does: "The ids that short forms stand for, and the numbers of memories."})
	Count = row[CountRequest, Counted](Op{Name: "count", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/count",
		Does: "How many active memories pass filters. Memories with searchable false are not counted."})
	Values = row[ValuesRequest, ValuePage](Op{Name: "values", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/values",
		Does: "The values of an attribute, and how many active memories have each. Memories with searchable false are not counted."})

	Stats = row[StatsRequest, Counters](Op{Name: "stats", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/stats", Wire: wire.OpStats,
		Does: "Counters of a database or a namespace. Counters that need a scan stop at 20,000. For a namespace, relations and operations are 0, because they belong to no namespace. verbose=1 returns more."})
)

// A Listing selects memories. Zero values do not filter.
type Listing struct {
	Namespace string     `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Domain    string     `json:"domain" doc:"Only memories of this domain."`
	Type      string     `json:"memory_type" doc:"Only memories of this kind."`
	Source    string     `json:"source" doc:"Only memories of this source."`
	After     field.Date `json:"after" doc:"Only memories created at this date or later."`
	Before    field.Date `json:"before" doc:"Only memories created before this date."`
	Filter    field.Map  `json:"filter" doc:"Only memories that pass it, as in a recall."`
	Limit     int        `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 200."`

	Match *filter.Filter `json:"-"` // the parsed Filter
	Gone  bool           `json:"-"` // includes forgotten memories
}

// A Walk pages through active memories in the order of their ids, which is the order of their creation.
type Walk struct {
	Kind  string `json:"kind" doc:"Only records whose metadata has this kind."`
	Drive string `json:"drive_id" doc:"Only records whose metadata has this drive_id."`
	Since string `json:"since_rid" names:"-" doc:"The previous page's next_cursor; blank for the first page."`
	Order string `json:"order" is:"string{asc,desc}" doc:"asc for oldest first; otherwise newest first."`
}

type MemoriesRequest struct {
	Listing
	Offset int    `json:"offset" is:"integer[0..]" doc:"Number of memories to skip."`
	Cursor string `json:"cursor" doc:"The previous page's cursor; blank for the first page. Only for the order of creation."`
	Sort   string `json:"sort" is:"string{created_at,importance,last_access}" default:"created_at" doc:"The field to sort by; the greatest value comes first."`
	Walk
	_ string `idle:"status" is:"string{active}"`

	Walks bool `json:"-"` // the answer has records, in the order of their ids
	Fresh
}

// A MemoryPage holds memories, or the records of a walk.
type MemoryPage struct {
	Limit int `json:"limit" doc:"Most rows of the page."`
	*NewestMemories
	*Walked
}

// NewestMemories holds a page of a list.
type NewestMemories struct {
	Total  uint64   `json:"total" doc:"Number of active memories in the namespace, or in the database."`
	Offset int      `json:"offset" doc:"Number of rows skipped."`
	Items  []Memory `json:"items" doc:"The newest first, or in the requested order."`
	Next   *int     `json:"next_offset,omitempty" doc:"Pass it as offset to get the next page. Absent at the end, and where the next row is behind 100,000 others: cursor gets there."`
	Cursor string   `json:"cursor,omitempty" doc:"Pass it as cursor to get the next page; absent at the end. A page with filters that match little may have few rows or none, and a cursor."`
	Bounded
}

// Walked holds a page of a walk.
type Walked struct {
	Records []Record `json:"records" doc:"Records in the order of their ids; fewer than limit when the filters match few."`
	Next    *string  `json:"next_cursor" doc:"Pass it as since_rid to get the next page; null at the end."`
}

type NamespacesRequest struct {
	Limit int    `json:"limit" is:"integer[0..]" default:"100" doc:"Most namespaces to return, up to 1,000."`
	After string `json:"after" doc:"The previous page's next; blank for the first page."`
	Fresh
}

// A NamespacePage lists namespaces that have or had memories.
type NamespacePage struct {
	Namespaces []Namespace `json:"namespaces" doc:"Shorter names first, then in the order of their bytes."`
	Next       *string     `json:"next" doc:"Pass it as after to get the next page; null at the end."`
}

type Namespace struct {
	Name      string `json:"name" doc:"Its name."`
	Active    uint64 `json:"active" doc:"Memories that recall finds."`
	Merged    uint64 `json:"merged" doc:"Memories that were merged into others."`
	Forgotten uint64 `json:"forgotten" doc:"Memories that were forgotten and are not purged yet."`
}

type RecordsRequest struct {
	Listing
	Walk
	Fresh
}

type RecordPage struct {
	Walked
	Limit int `json:"limit" doc:"Most rows of the page."`
}

type CountRequest struct {
	Type      string    `json:"memory_type" doc:"Only memories of this kind."`
	Namespace string    `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Domain    string    `json:"domain" doc:"Only memories of this domain."`
	Source    string    `json:"source" doc:"Only memories of this source."`
	Session   string    `json:"session_id" names:"-" doc:"Only memories of this session."`
	Filter    field.Map `json:"filter" doc:"Only memories that pass it, as in a recall."`
	Fresh
}

type Counted struct {
	Count int         `json:"count" doc:"Number of memories."`
	Index oplog.Index `json:"index" doc:"Log index that the answer reflects."`
}

type ValuesRequest struct {
	Attribute string    `json:"attribute" is:"string!" doc:"The attribute's name." example:"project"`
	Namespace string    `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Filter    field.Map `json:"filter" doc:"Only memories that pass it, as in a recall."`
	Limit     int       `json:"limit" is:"integer[0..]" default:"100" doc:"Most values to return, up to 1,000."`
	After     string    `json:"after" doc:"The previous page's next; blank for the first page."`
	Fresh
}

type ValuePage struct {
	Values []AttributeValue `json:"values" doc:"Values in the order of the bytes of their JSON; a list counts as one value."`
	Total  int              `json:"total" doc:"Number of values on all pages."`
	Next   *string          `json:"next" doc:"Pass it as after to get the next page; null at the end."`
}

// An AttributeValue is a value with the number of memories that have it.
type AttributeValue struct {
	Value json.RawMessage `json:"value" doc:"The value."`
	Count int             `json:"count" doc:"Number of memories."`
	First float64         `json:"first_created_at" is:"time" doc:"When the oldest of them happened, in Unix seconds."`
	Last  float64         `json:"last_created_at" is:"time" doc:"When the newest of them happened, in Unix seconds."`
}

type StatsRequest struct {
	Verbose   bool   `json:"verbose" doc:"Return more counters."`
	Namespace string `json:"namespace" doc:"Count this namespace only; blank counts the whole database."`
	Fresh
}

// Counters holds the numbers of a database. Some clients pass the object's fields as arguments of a record with eight
// fields, so no field may be added that was not requested.
type Counters struct {
	Active       uint64 `json:"active_memories" doc:"Memories that are recalled."`
	Consolidated uint64 `json:"consolidated_memories" doc:"Memories that were merged into others."`
	Tombstoned   uint64 `json:"tombstoned_memories" doc:"Memories that were forgotten and are not purged."`
	Edges        uint64 `json:"edges" doc:"Relations."`
	Entities     uint64 `json:"entities" doc:"Names in memories or relations."`
	Operations   uint64 `json:"operations" doc:"Operations that were ever applied to the database."`
	Conflicts    uint64 `json:"open_conflicts" doc:"Contradictions that are not resolved."`
	Triggers     uint64 `json:"pending_triggers" doc:"Triggers."`
	*MoreCounters
}

// MoreCounters holds the counters that verbose adds. Those that need a scan stop at 10,000.
type MoreCounters struct {
	Archived int    `json:"archived_memories" doc:"Always 0: no memory is archived, all of them are searched."`
	Resolved int    `json:"resolved_conflicts" doc:"Contradictions that were resolved or dismissed, up to 10,000."`
	Patterns int    `json:"active_patterns" doc:"Number of patterns, up to 10,000."`
	Rows     int    `json:"scoring_cache_entries" doc:"Memories in this node's index."`
	Vectors  int    `json:"vec_index_entries" doc:"Vectors in this node's index."`
	Claims   uint64 `json:"claims" doc:"Claims."`
	Applied  uint64 `json:"applied_index" doc:"Log index that this node's state has applied."`
	Indexed  uint64 `json:"indexed_index" doc:"Log index up to which this node's search index is complete."`
}
