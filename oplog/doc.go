// Package oplog defines what can happen to memory: operations, the entries and records they travel in, their results
// and refusals, ids and times, and what the state holds of it all. Package state applies them; nothing here reads or
// writes a file.
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
package oplog
