// Package serve is the server that the dialects of this host share. It claims a socket (Claim), accepts a bounded
// number of connections and ends them in order (Work), serves HTTP behind a door (Work.AcceptHTTP), frames messages
// (Format), gives the large requests of many clients their places and turns (Large), and reads untyped objects:
// strictly (Fields), or as careless clients need it (Members). It knows no dialect and no memory. local/door decides
// which clients come in over HTTP.
//
// A frame is length-prefixed bytes:
//
//	+-------------+-----------------+
//	| len  4 bytes | body, len bytes |
//	+-------------+-----------------+
//
// len is unsigned, big-endian, and counts the body alone. The largest body is the protocol's: a Format holds it. A
// length over the limit is known from the four bytes alone; nothing is allocated or read for it. The room for a body
// grows as its bytes arrive, so a peer pays for what it claims. A Format sets no deadlines: those belong to the
// connection, whose owner knows how long it may be silent.
package serve
