// Package oplog defines the operations on memory, the entries and records in which they are sent and stored, their
// results and errors, ids and times, and the rows of the state. Package state applies operations; nothing here reads
// or writes a file.
//
// An operation (Op) is a small struct with a stable number. An Entry has one or many of them, which are
// applied together or not at all: a surface proposes an entry, and the client gets its result. Entries that
// arrive together share one Raft log record:
//
//	+---------+---------+----------+-----------+----------------------------------+
//	| ver   1 | flags 1 | hlc   16 | count uv  | count × ( length uv, entry body ) |
//	+---------+---------+----------+-----------+----------------------------------+
//
// ver is RecordVersion. Bit 0 of flags says that everything after the HLC is one zstd frame. The HLC is
// stamped by the leader when the record enters the log; entry i of the record happened at the HLC with i
// added to its logical part, so every entry has its own time and log order is time order. An entry
// body is a msgpack map made by the proposer; the leader never re-encodes it.
package oplog
