// Package serve holds the server code that the dialects share. It claims a socket (Claim), accepts a bounded number
// of connections and closes them in order (Work), serves HTTP behind a door (Work.AcceptHTTP), frames messages
// (Format), bounds the large requests of all clients (Large), and reads untyped objects, strictly (Fields) or
// leniently (Members). It depends on no dialect and no memory. Package door decides which HTTP requests are accepted.
//
// A frame is a length and that many bytes:
//
//	+-------------+-----------------+
//	| len  4 bytes | body, len bytes |
//	+-------------+-----------------+
//
// len is unsigned, big-endian, and counts the body only. A Format holds the limit of its protocol. A length over the
// limit is rejected before anything is allocated or read for it. The buffer of a body grows as its bytes arrive, so a
// peer cannot reserve memory by a length alone. A Format sets no deadlines: the owner of the connection does.
package serve
