// Package state holds the state that committed records produce: a directory of rows (package store) that is a pure
// function of the records applied to it.
//
// Apply uses no clock, no randomness, no environment and no map order: the proposer makes ids, times and vectors, and
// the entry carries them. A rejection is a Result, replicated like a success. The applied index is in the same batch
// as its effects, so a record is applied exactly once across crashes.
//
// Invariant: two states that applied the same records have the same Sum (a 256-bit multiset hash of all
// replicated keys), however the records were batched and wherever snapshots were taken.
//
// The state also keeps the outcomes of the newest records (Options.RetainOps), whose bytes it reads from the Raft
// log. OPLOG_PULL, index catch-up, `cairn log tail` and subscriptions with a cursor read this window. It is each
// node's own and no part of the Sum.
//
// Apply and Restore may be called from one goroutine at a time; View and everything that reads may be called from
// any.
package state
