// Package transport carries hashicorp/raft between members inside the cluster opcodes: connections to peers (Pool),
// the library's Transport over them (calls.go, pipeline.go, snapshot.go), and the peer port with its handshake
// (server.go, inbound.go). It knows bytes, addresses, secrets and certificates. Its Host decides what this member
// says and whether a message counts: package raft, the only caller.
//
// Each kind of traffic has connections of its own to each peer, so a snapshot never delays a heartbeat. Every
// connection begins with CLUSTER_HELLO and a proof of the cluster secret (hello.go); before that, frames are small
// and the connection has a deadline. Nothing is sent twice.
//
// Requests of one kind share a connection (exchange.go): each has its own stream, and the peer answers them side
// by side. Only what must arrive in order has connections of its own, and no streams: the appends of a pipeline
// (pipeline.go), and the pieces of a snapshot (snapshot.go).
package transport
