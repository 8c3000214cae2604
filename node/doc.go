// Package node is one running Cairn node. Open puts the rooms together in order: the state (oplog), the
// index that follows it, consensus (raft), and the two network surfaces: the wire server for clients
// and the HTTP gateway. Close takes them apart in reverse.
//
// # The write
//
// A surface calls Service with a plain value and a Caller. The service refuses what can be refused, settles
// chance (ids, times, vectors), and proposes an entry, on the leader or through it: package commit says how the
// entry gets into the log. The answer leaves when this node has applied the entry and its index has taken it.
//
// # The read
//
// A commit.Freshness says how new the answer must be: stale (what this node has), at an index, or linearizable.
// Reads never write; what they returned is reinforced later, in batches.
//
// # Goroutines and locks
//
// No lock is held over I/O, a channel or a callback. Locks, where two are held: server.mu before session.mu.
package node
