// Package process runs programs for clients of a unix socket. A client that reconnects gets the output that it
// missed. The package implements claustrum's protocol to the byte.
//
// # Lines
//
// Requests and answers are JSON objects, one a line (NDJSON), on a socket of mode 0600. A line of up to 1,048,575
// bytes before its newline is served; a longer one closes the connection without an answer. Empty lines are skipped.
//
//	{"jsonrpc":"2.0","id":1,"method":"process.spawn","params":{…},"auth":"<token>"}
//	{"jsonrpc":"2.0","id":1,"result":{…}}
//	{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"…"}}
//	{"type":"stream","processId":"a","stream":"stdout","seq":1,"data":"<base64>"}
//	{"type":"stream","processId":"a","stream":"exit","seq":2,"exitCode":0}
//
// A request is checked in the order parse, auth, version, method, params; the first failure is answered:
//
//	-32700  Parse error                      the line is not a request; the answer's id is null
//	-32001  Unauthorized: …                  the token is missing or wrong
//	-32600  Invalid JSON-RPC version
//	-32601  Invalid method format / Unknown namespace / Unknown method
//	-32602  Invalid params, and errors of the methods
//	-32603  an error of the system, with its text
//	-32003  stdin offset gap: offset ahead of applied bytes
//
// # Methods
//
//	server.   ping version capabilities shutdown
//	files.    list validate stat read extract_tar
//	git.      info status list_branches worktree_create worktree_remove
//	process.  spawn stdin kill killAndWait reattach
//
// # Guarantees
//
//   - Requests of one connection run concurrently, but those that name the same process take effect in the order in
//     which they came; a spawn, its stdin and its kill may be sent in one write.
//   - The answer to spawn precedes every frame of the process. The answer to reattach follows the frames it replays
//     and precedes the live ones; no frame is missing or sent twice. The answer to a killAndWait that saw the
//     process die follows its exit frame.
//   - A frame holds at most 32 KiB. Frames are kept as long as the process is in the table, the older ones in files.
//   - A client that reads slowly, or not at all, delays no other client and no process. Frames are not queued for a
//     connection; its writer reads them from the store when the client can receive them.
//   - The exit frame is the last frame of a process. It comes at most five seconds after the process has ended, even
//     if a descendant holds the pipes open.
package process
