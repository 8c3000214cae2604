// Package oplog is what can happen to memory, and the state that results.
//
// An operation (Op) is a small struct with a stable number. One or many of them, standing or falling
// together, are an Entry: the unit a surface proposes and a client is answered for. Entries that
// arrive together share one Raft log record:
//
//	+---------+---------+----------+-----------+----------------------------------+
//	| ver   1 | flags 1 | hlc   16 | count uv  | count × ( length uv, entry body ) |
//	+---------+---------+----------+-----------+----------------------------------+
//
// ver is RecordVersion. Bit 0 of flags says that everything after the HLC is one zstd frame. The HLC is
// stamped by the leader when the record enters the log; entry i of the record happened at the HLC with i
// added to its logical part, so every entry has a time of its own and log order is time order. An entry
// body is a msgpack map made by the proposer; the leader never re-encodes it.
//
// State is a directory of rows (package store) that is a pure function of the records applied to it. Apply knows no clock, no
// chance, no environment and no map order: ids, times and vectors are settled by the proposer and carried
// in the entry. A refusal is a Result, as replicated as a success. The applied index is in the same
// batch as its effects, so a record is applied exactly once across crashes.
//
// Invariant: two states that applied the same records have the same Sum (a 256-bit multiset hash of all
// replicated keys), however the records were batched and wherever snapshots were taken.
//
// The state also keeps the applied records themselves for a window (Retention): the source of
// OPLOG_PULL, of index catch-up, of `cairn log tail` and of subscriptions with a cursor. The window is
// a node's own business and no part of the Sum.
//
// Apply and Restore may be called from one goroutine at a time; View and everything that reads may be called from any.
package oplog
