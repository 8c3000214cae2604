// Package memorystores serves the HTTP API of Anthropic's memory stores on the gateway's port, so that
// client.beta.memoryStores of Anthropic's own SDKs runs unmodified: set its base URL to a node and its API key to a
// token. It translates calls to operations of the table and answers to that API's format, and stores nothing itself.
//
// # Tokens
//
// Clients send a token as x-api-key: KEY or Authorization: Bearer KEY. It needs the same rights as on the other
// ports. The workspace is the token's database. The headers anthropic-version, anthropic-beta and
// anthropic-workspace-id are ignored.
//
// # Objects
//
//	store     a keyed memory in the namespace memory_stores; its id, memstore_…, is the key, and also the name of the
//	          namespace with the store's memories
//	memory    a keyed memory: its path is the key; its id is mem_ and the memory's id
//	version   a revision of a memory; its id is memver_, the memory's id and the revision's number
//
// So the other dialects can find, correct and watch the same memories. A recall in the namespace memstore_… searches
// a store; this API has no call for that. "@memory_stores" is a reserved key of metadata.
//
// A path is a key: 1 to 20 segments, at most 1,024 bytes, in Unicode form NFC. A content has at most 102,400 bytes. A
// blank content is stored in the memory's metadata, because a memory's text must have words. Recall does not find it.
//
// # Changes
//
// A change of a memory is one entry of the log. It applies only if the memory has not changed since it was read, and
// the store is neither archived nor deleted; else the change is tried again. A precondition compares the SHA-256 of
// the content. If it fails, the answer is 409 memory_precondition_failed_error, unless the memory is already as
// requested. A path that another memory has, or that is above or below another's, is rejected with 409
// memory_path_conflict_error and that memory's id and path.
//
// # Versions
//
// created_by is an api_actor with the first digits of the token's hash, as in the audit. A change through another
// dialect is a version too, attributed to the previous writer. The versions of a memory are listed oldest first;
// those of a store memory by memory, in the order of ids. A version of a deleted memory stays readable until the
// memory is purged or its store is deleted. Owners of the database can redact an earlier version, which erases its
// content for good.
//
// # Paths
//
//	GET POST /v1/memory_stores                              list and create stores
//	GET POST DELETE /v1/memory_stores/STORE                 read, change and delete one, with its memories
//	POST /v1/memory_stores/STORE/archive                    no more writes
//	GET POST /v1/memory_stores/STORE/memories               list and create memories
//	GET POST DELETE /v1/memory_stores/STORE/memories/ID     read, change and delete one
//	GET /v1/memory_stores/STORE/memory_versions             list versions
//	GET /v1/memory_stores/STORE/memory_versions/ID          read one
//	POST /v1/memory_stores/STORE/memory_versions/ID/redact  erases it for good
//
// Lists are {data, next_page}, the pages of a list 20 rows unless limit says otherwise, up to 100; with view=full up
// to 20. A page of a filtered list may be short, or empty, and still have a next one. Reads take
// ?consistency=linearizable and ?min_index= as everywhere. Errors are {"type": "error", "error": {"type",
// "message"}}.
package memorystores
