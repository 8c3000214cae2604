// Package transport carries hashicorp/raft between members inside the cluster opcodes: connections to peers (Pool), the library's
// Transport over them (calls.go, pipeline.go, snapshot.go), and the peer port with its handshake (server.go, inbound.go). It knows
// bytes, addresses, secrets and certificates; what a member says and what it makes of what it is told is the Host's.
//
// Each kind of traffic has connections of its own to each peer, so a snapshot never delays a heartbeat. Every connection begins with
// CLUSTER_HELLO and the cluster secret. Nothing is sent again here.
package transport
