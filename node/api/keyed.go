package api

import "github.com/cairndb/cairn/wire/field"

// Keyed memories. A key is a path in a namespace and leads to one memory.
var (
	Put = row[PutRequest, PutAnswer](Op{Name: "put", Bound: Single, Scope: Write, Writes: true, HTTP: "POST /v1/put",
		Does: "Store a memory under a key. If the key has a memory, the request corrects it under the same id and keeps a revision: text, importance, valence, certainty, pin, metadata and attributes are replaced (omitted ones are cleared), expiry and searchability change only if the request sets them, and other fields stay. If if_absent, if_revision or if_sha256 does not hold: 409 precondition_failed, with rid, revision and sha256 of the current memory.",
		Tool: &Tool{Name: "put", Title: "Put a memory under a key", Full: true, Destructive: true,
			Text: "Store a memory under a key that you choose, such as /prefs/editor, or replace the one that is there. Use if_absent or if_revision when others may write the same key."}})
	GetKey = row[GetKeyRequest, KeyedMemory](Op{Name: "get", Bound: Single,
		Does: "The memory that a key has, or had at a date.", Scope: Read, HTTP: "GET /v1/get", Missing: "key_not_found",
		Tool: &Tool{Name: "get", Title: "Get the memory of a key", Full: true, ReadOnly: true, Idempotent: true,
			Text: "The memory that a key has, or had at a date. " + QuotedData}})
	Rename = row[RenameRequest, RenameAnswer](Op{Name: "rename", Bound: Single,
		Does:  "Give a key's memory another key in its namespace. The memory keeps its id.",
		Scope: Write, Writes: true, HTTP: "POST /v1/rename", Missing: "key_not_found",
		Tool: &Tool{Name: "rename", Title: "Rename a key", Full: true, Text: "Give a key's memory another key. The memory keeps its id."}})
	Delete = row[DeleteRequest, DeleteAnswer](Op{Name: "delete", Bound: Single,
		Does: "Forget a key's memory, which frees the key.", Scope: Write, Writes: true, HTTP: "POST /v1/delete", Confirm: "key",
		Tool: &Tool{Name: "delete", Title: "Delete a key", Full: true, Destructive: true, Idempotent: true,
			Text: "Forget a key's memory. The key is free again."}})
	ListKeys = row[ListKeysRequest, KeyPage](Op{Name: "keys", Bound: Single,
		Does:  "The keys below a folder, in the order of their bytes. With a depth, deeper keys are grouped by folder, and listing a group costs as much as listing one key.",
		Scope: Read, HTTP: "GET /v1/keys",
		Tool: &Tool{Name: "keys", Title: "List keys", Full: true, ReadOnly: true, Idempotent: true,
			Text: "The keys below a folder, such as /prefs. " + QuotedData}})
	Batch = row[BatchRequest, BatchAnswer](Op{Name: "batch", Bound: Single,
		Does:  "Read and write keys in one atomic step: if all conditions hold, all writes are done, otherwise none. Reads see the state before the writes.",
		Scope: Write, Writes: true, Reads: true, HTTP: "POST /v1/batch", Large: true,
		Cost: func(q any) int { return max(1, len(q.(*BatchRequest).Steps)) },
		Tool: &Tool{Name: "batch", Title: "Read and write keys at once", Full: true, Destructive: true,
			Text: "Do several steps on keys as one: all of them, or none if any condition fails. " + QuotedData}})
)

// A Condition states what a keyed request expects of its key. If it fails, the request changes nothing, and the answer
// is 409 with the code precondition_failed and the current memory.
type Condition struct {
	IfAbsent   bool    `json:"if_absent" doc:"Expect that no memory has the key."`
	IfRevision *uint32 `json:"if_revision" is:"integer[0..]" doc:"Expect the key's memory to be at this revision (its number of corrections)."`
	IfSHA256   string  `json:"if_sha256" doc:"Expect the text of the key's memory to have this SHA-256, in hex."`
}

type PutRequest struct {
	Draft
	Path string `json:"key" is:"string!" doc:"The key: / and 1 to 20 segments with a / between them, at most 1,024 bytes, in Unicode form NFC." example:"/prefs/editor/theme"`
	Condition
	Reason string `json:"reason" doc:"The reason for the change, shown with the memory's revisions."`
}

type PutAnswer struct {
	RID      string      `json:"rid" is:"rid" doc:"The memory's id."`
	Path     string      `json:"key" doc:"Its key."`
	Created  bool        `json:"created" doc:"true: no memory had the key, and this one was stored."`
	Changed  bool        `json:"changed" doc:"false: the memory had this content already, so no revision was made."`
	Revision uint32      `json:"revision" doc:"Number of corrections."`
	SHA256   string      `json:"sha256" doc:"SHA-256 of its text, in hex."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type GetKeyRequest struct {
	Namespace string     `json:"namespace" doc:"The namespace; blank for default."`
	Path      string     `json:"key" is:"string!" doc:"The key." example:"/prefs/editor/theme"`
	AsOf      field.Date `json:"as_of" doc:"Return the memory that had the key at this date, as it was then."`
	Fresh
}

type KeyedMemory struct {
	Memory
	SHA256 string `json:"sha256" doc:"SHA-256 of its text, in hex."`
}

type RenameRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Path      string `json:"key" is:"string!" doc:"The key." example:"/drafts/plan"`
	To        string `json:"to" is:"string!" doc:"The new key." example:"/plans/2026"`
	Condition
	Reason string `json:"reason" doc:"The reason, shown with the memory's revisions."`
	Key    string `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it renames nothing twice."`
}

type RenameAnswer struct {
	RID      string      `json:"rid" is:"rid" doc:"The memory's id."`
	Path     string      `json:"key" doc:"Its new key."`
	Revision uint32      `json:"revision" doc:"Number of corrections, this one included."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type DeleteRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Path      string `json:"key" is:"string!" doc:"The key." example:"/prefs/editor/theme"`
	Condition
	Reason string `json:"reason" doc:"The reason, stored with the memory."`
	Key    string `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it deletes nothing twice."`
}

type DeleteAnswer struct {
	RID   string      `json:"rid" is:"rid" doc:"The id of the memory that had the key; blank for none."`
	Path  string      `json:"key" doc:"The key, now free."`
	Found bool        `json:"found" doc:"false: no memory had the key."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type ListKeysRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Prefix    string `json:"prefix" default:"/" doc:"The folder whose keys are listed: /prefs for the keys that begin with /prefs/." example:"/prefs"`
	Depth     int    `json:"depth" is:"integer[0..20]" doc:"Levels below the folder to list; deeper keys are grouped by folder. 0 lists every key."`
	After     string `json:"after" doc:"The previous page's next; blank for the first page."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"100" doc:"Most rows to return, up to 1,000."`
	Full      bool   `json:"full" doc:"Return the memories too."`
	Fresh
}

type KeyPage struct {
	Keys []KeyRow `json:"keys" doc:"Keys and folders, in the order of their bytes."`
	Next *string  `json:"next" doc:"Pass it as after to get the next page; null at the end."`
}

// A KeyRow is a key with its memory, or a folder of deeper keys. A folder ends in / and has no other fields.
type KeyRow struct {
	Path     string  `json:"key" doc:"The key, or the folder of a group of deeper keys, ending in /."`
	RID      string  `json:"rid,omitempty" is:"rid" doc:"The memory's id; absent for a folder, as are all other fields."`
	Revision *uint32 `json:"revision,omitempty" doc:"Number of corrections."`
	SHA256   string  `json:"sha256,omitempty" doc:"SHA-256 of its text, in hex."`
	Bytes    int     `json:"bytes,omitempty" doc:"Size of its text in bytes."`
	Created  float64 `json:"created_at,omitempty" is:"time" doc:"When it happened, in Unix seconds."`
	Updated  float64 `json:"updated_at,omitempty" is:"time" doc:"When it was stored or changed last, in Unix seconds."`
	Memory   *Memory `json:"memory,omitempty" doc:"The memory, where full was requested."`
}

type BatchRequest struct {
	Steps []BatchStep `json:"steps" is:"!" doc:"The reads and writes, at most 10,000. At most one step may write a key."`
	Key   string      `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it writes nothing twice."`
}

// A BatchStep is one read or write of a batch.
type BatchStep struct {
	Op        string `json:"op" is:"string{get,put,rename,delete}!" doc:"What to do."`
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Path      string `json:"key" is:"string!" doc:"The key."`
	To        string `json:"to" doc:"rename: the new key."`
	Memory    *Draft `json:"memory" doc:"put: the memory, with the fields of remember; its namespace is the step's. rename: new content for the memory, as in a put; omit it to keep the content."`
	Condition
	Reason string `json:"reason" doc:"The reason for the change."`
}

type BatchAnswer struct {
	Results  []BatchResult `json:"results" doc:"One for each step, in order."`
	Index    field.Token   `json:"log_index" doc:"Position of the batch in the log; pass it as min_index to read it on another node."`
	Redacted []string      `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

// A BatchResult is the result of a step.
type BatchResult struct {
	Path     string  `json:"key" doc:"The key; after a rename, the new key."`
	Found    bool    `json:"found" doc:"Whether a memory had the key before the batch."`
	RID      string  `json:"rid,omitempty" is:"rid" doc:"The id of the memory that has the key, or had it; absent for none."`
	Changed  bool    `json:"changed,omitempty" doc:"Whether the step changed anything."`
	Revision uint32  `json:"revision" doc:"Number of corrections."`
	SHA256   string  `json:"sha256,omitempty" doc:"get, put: SHA-256 of its text, in hex."`
	Memory   *Memory `json:"memory,omitempty" doc:"get: the memory before the batch."`
	Omitted  bool    `json:"omitted,omitempty" doc:"get: true when the answer had no room for the memory."`
}
