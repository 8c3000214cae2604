// Package snapshot writes and reads the streams that transfer the state and the log: compressed rows or records,
// followed by a hash over all of them. It handles bytes only: package state defines the meaning of rows, and package
// archive stores streams in a directory.
//
// A snapshot is
//
//	"CAIRNSNP" | version 3 | zstd( size u64, rows, 0 uv, SHA-256 of all before it )
//
// A row is key length uv, key, value length uv, value. Rows are sorted by key, as in the store, without duplicates.
// Size is their size on the sender's disk, for a progress bar. The sender reads each row from a block whose checksum
// it has verified.
//
// A range of the log is
//
//	"CAIRNLOG" | version 2 | zstd( head, records, end, rows, 0 uv, SHA-256 of all before it )
//
// head is since u64, index u64, term u64, hash 32 bytes. Applying the records after since to the state at since leads
// to the state at index, which has this hash. A record is index u64 (never 0), HLC 16 bytes, length u32, data; end is
// a u64 of 0. If entries were erased from records, rows follow: the values at index of all rows that those entries
// may have changed.
package snapshot
