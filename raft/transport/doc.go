// Package transport carries hashicorp/raft between members inside the cluster opcodes: connections to peers (Pool),
// the library's Transport over them (calls.go, pipeline.go, snapshot.go), and the peer port with its handshake
// (server.go, inbound.go). It knows bytes, addresses, secrets and certificates. Its Host, implemented by package
// raft, provides this member's hello and decides whether a message counts.
//
// Each kind of traffic has its own connections to each peer, so a snapshot never delays a heartbeat. Every connection
// begins with CLUSTER_HELLO and a proof of the cluster secret (hello.go); before that, frames are small and the
// connection has a deadline. The transport never sends a request twice.
//
// Requests of one kind share a connection (exchange.go): each has its own stream, and the peer answers them
// concurrently. Only messages that must arrive in order have their own connections, without streams: the appends of a
// pipeline (pipeline.go), and the chunks of a snapshot (snapshot.go).
package transport
