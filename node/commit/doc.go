// Package commit brings entries into a node's replicated log and makes their effects readable: the proposer with its
// group commit, forwarding to the leader, the state machine that raft drives, the watermarks that writes and reads wait
// for, and the feed of what was applied.
//
// It decides nothing about callers: rights, limits and quotas were checked before Propose, and what a surface answers
// is the surface's. It does not know what an operation means; oplog applies it. The service calls it, from any
// goroutine; raft drives its state machine from one goroutine of raft's own.
//
// Locks: feed.mu and watermark.mu are each held alone, never over I/O, a channel or a callback.
package commit
