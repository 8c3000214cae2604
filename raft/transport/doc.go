// Package transport carries hashicorp/raft between members inside the cluster opcodes: connections to peers (Pool), the library's
// Transport over them (calls.go, pipeline.go, snapshot.go), and the peer port with its handshake (server.go, inbound.go). It knows
// bytes, addresses, secrets and certificates. Its Host decides what this member says and whether a message counts: package raft, the
// only caller.
//
// Each kind of traffic has connections of its own to each peer, so a snapshot never delays a heartbeat. Every connection begins with
// CLUSTER_HELLO and the cluster secret (greet); before that, frames are small and the connection has a deadline. Nothing is sent twice.
//
// Entries and read indexes that a follower passes on to the leader share one connection (exchange.go): each request has a stream of
// its own, and the leader answers them side by side.
package transport
