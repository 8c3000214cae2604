// Package memorystores speaks the HTTP API of Anthropic's memory stores on the gateway's port, so that
// client.beta.memoryStores of Anthropic's own SDKs runs unmodified: set its base URL to a node and its API key to a
// token. It translates calls to operations of the table and answers to that API's shapes, and stores nothing itself.
//
// # Who is asked for what
//
// A token is sent as x-api-key: KEY or Authorization: Bearer KEY, and needs the rights that the same operation needs
// elsewhere. The workspace is the token's database; the headers anthropic-version, anthropic-beta and
// anthropic-workspace-id are not read.
//
// # What things are
//
//	store     a keyed memory in the namespace memory_stores; its id, memstore_…, is its key, and the name of the
//	          namespace that has the store's memories
//	memory    a keyed memory: its path is the key, its id is mem_ and the memory's id
//	version   a revision of a memory: memver_, the memory's id and the revision's number
//
// So the other dialects find, correct and watch the same memories, and a recall in the namespace memstore_… searches a
// store, for which this API has no call. "@memory_stores" is a reserved key of metadata.
//
// A path is a key: 1 to 20 segments, at most 1,024 bytes, in Unicode form NFC. A content has at most 102,400 bytes. One
// that is blank is in the memory's metadata, because a memory has words; recall does not find it.
//
// # Changes
//
// A change of a memory is one entry of the log, which holds only if the memory is as it was read, and the store is
// neither archived nor deleted. It is decided again when another client was faster. A precondition compares the SHA-256
// of the content; it is 409 memory_precondition_failed_error where it does not hold, unless the memory is already as
// requested. A path that another memory has, or that is above or below another's, is 409 memory_path_conflict_error
// with that memory's id and path.
//
// # Versions
//
// created_by is an api_actor with the first digits of the token's hash, as the audit has them. A change through another
// dialect is a version too, by the writer before it. The versions of a memory are listed from the oldest; those of a
// store memory by memory, in the order of their ids. A version of a deleted memory stays readable until the memory is
// purged or its store is deleted. Redaction erases for good what an earlier version said, for owners of the database.
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
// Lists are {data, next_page}, the pages of a list 20 rows unless limit says otherwise, up to 100; with view=full up to
// 20. A page of a filtered list may be short, or empty, and still have a next one. Reads take ?consistency=linearizable
// and ?min_index= as everywhere. Errors are {"type": "error", "error": {"type", "message"}}.
package memorystores
