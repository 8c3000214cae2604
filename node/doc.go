// Package node is one running Cairn node. Open puts the rooms together in order: the state (oplog), the
// index that follows it, consensus (raft), and the two network surfaces: the wire server for clients
// and the HTTP gateway. Close takes them apart in reverse.
//
// # The write
//
// A surface calls Service with a plain value and a Caller. The service refuses what can be refused, settles
// chance (ids, times, vectors), and proposes an entry. On the leader the proposer joins concurrent entries
// into one log record (propose.go); on a follower the entry travels to the leader when the surface forwards
// (forward.go), or is refused with the leader's address. The answer leaves when this node has applied the
// entry and its index has taken it.
//
// # The read
//
// A Freshness says how new the answer must be: stale (what this node has), at an index, or linearizable
// (fresh.go). Reads never write; what they returned is reinforced later, in batches.
//
// # Goroutines and locks
//
// raft calls machine.Apply from one goroutine; it hands the outcomes to the feed through a bounded queue, and
// one goroutine takes them to the index and the subscribers, in log order. No lock is held over I/O, a
// channel or a callback. Locks, where two are held: server.mu before session.mu; feed.mu alone; mark.mu alone.
package node
