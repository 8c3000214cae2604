// Package state holds what the committed records make: a directory of rows (package store) that is a pure function of
// the records applied to it.
//
// Apply knows no clock, no chance, no environment and no map order: ids, times and vectors are made by the proposer
// and carried in the entry. A refusal is a Result, as replicated as a success. The applied index is in the same batch
// as its effects, so a record is applied exactly once across crashes.
//
// Invariant: two states that applied the same records have the same Sum (a 256-bit multiset hash of all
// replicated keys), however the records were batched and wherever snapshots were taken.
//
// The state also has what became of the newest records (Options.RetainOps), whose bytes it reads from the Raft log:
// the source of OPLOG_PULL, of index catch-up, of `cairn log tail` and of subscriptions with a cursor. The window is
// a node's own business and no part of the Sum.
//
// Apply and Restore may be called from one goroutine at a time; View and everything that reads may be called from any.
package state
