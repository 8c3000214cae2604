package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Erasing for good.
var (
	Erase = row[EraseRequest, Erasing](Op{Name: "erase", Scope: Owner, Writes: true, HTTP: "POST /v1/erase",
		Does: "Erase memories for good: their texts, vectors, revisions and claims, what they were merged or split into, and what that was merged or split into in turn. Of a memory that was itself merged or split from others it erases these too. Without confirm nothing is erased: the answer lists what would be, with a confirm value. Repeat the request with that value to erase it. " +
			"From then on, storing one of these texts again is rejected."})
	Erased = row[ErasedRequest, Proof](Op{Name: "erased", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/erased/{rid}",
		Missing: "memory_not_found",
		Does:    "A statement, signed by the node, about a memory that was erased for good: when, by which log record, what it consisted of, and where its bytes may still be. Nothing of its text is in it."})
)

// An EraseRequest names memories in one of four ways.
type EraseRequest struct {
	RIDs      []string  `json:"rids" is:"[]rid" doc:"Their ids, at most 1,000; forgotten ones too." example:"[\"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12\"]"`
	Revisions []uint32  `json:"revisions" doc:"With one id: only what these earlier revisions of it said. The memory stays."`
	Prefix    string    `json:"prefix" doc:"Memories whose key is this one or below it, such as /people/ada."`
	Filter    field.Map `json:"filter" doc:"Memories that pass this filter, as in a recall; forgotten ones too."`
	Entity    string    `json:"entity" doc:"Memories that name this entity. Its relations, claims and aliases are erased too."`
	Namespace string    `json:"namespace" doc:"Only memories of this namespace; blank for all. With prefix: the namespace of the keys, blank for default."`
	Confirm   string    `json:"confirm" doc:"The confirm value of the answer that listed what would be erased. If that list has changed since, the answer is 409 conflict."`
}

type Erasing struct {
	Memories  []Doomed    `json:"memories" doc:"The memories to erase, or the erased ones: those that the request names, those that they were merged or split from, and those that were merged or split from any of them."`
	Back      []string    `json:"restored" is:"[]rid" doc:"Memories that recall finds again, because the memory they were merged into is erased."`
	Relations int         `json:"relations" doc:"Relations of the entity that are erased."`
	Claims    int         `json:"claims" doc:"Claims of the entity that are erased."`
	More      bool        `json:"more" doc:"true: there are more; repeat the request after these are erased."`
	Confirm   string      `json:"confirm" doc:"Send it with the same request to erase. Blank when there is nothing to erase, or when it is done."`
	Erased    bool        `json:"erased" doc:"Whether it is done."`
	Index     field.Token `json:"log_index" doc:"Position of the write in the log."`
	Held      []string    `json:"still_held_by" doc:"Where the erased bytes may still be, and what removes them."`
}

// A Doomed is a memory that is about to be erased.
type Doomed struct {
	RID       string `json:"rid" is:"rid" doc:"Its id."`
	Namespace string `json:"namespace" doc:"Its namespace."`
	Text      string `json:"text,omitempty" doc:"The beginning of its text; absent once it is erased."`
	Merged    bool   `json:"merged" doc:"Whether it was merged from others."`

	Revision *uint32 `json:"revision,omitempty" doc:"The earlier revision that alone is erased."`
}

type ErasedRequest struct {
	RID string `json:"rid" in:"path" names:"memory" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Fresh
}

// A Proof has a signature over the JSON of its statement, exactly as it is in the answer.
type Proof struct {
	Statement Statement `json:"statement" doc:"The statement that is signed."`
	NodeID    uint32    `json:"node_id" doc:"The node."`
	Key       string    `json:"node_key" doc:"Its Ed25519 key in hex, as the cluster's status shows it."`
	Signature string    `json:"signature" doc:"The key's signature of the statement's JSON, in hex."`
}

// A Statement says what was erased, without any text of a memory.
type Statement struct {
	RID       string      `json:"rid" is:"rid" doc:"The memory's id."`
	Database  string      `json:"database" doc:"Its database."`
	Index     oplog.Index `json:"index" doc:"Position of the record that erased it."`
	At        float64     `json:"erased_at" is:"time" doc:"When, in Unix seconds."`
	Revisions uint32      `json:"revisions" doc:"Number of its earlier texts that are erased with it."`
	Claims    uint32      `json:"claims" doc:"Number of claims that its text made."`
	Entities  uint32      `json:"entities" doc:"Number of names in its text."`
	Vector    bool        `json:"vector" doc:"Whether it had a vector."`
	Merged    bool        `json:"merged" doc:"Whether it was merged from others."`
	Holds     bool        `json:"node_files_hold" doc:"Whether this node's files may still have its bytes, because it has not rewritten them yet."`
	Held      []string    `json:"still_held_by" doc:"Where else its bytes may be, and what removes them."`
}
