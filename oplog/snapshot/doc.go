// Package snapshot writes and reads the streams in which the state and the log travel: rows, or records, compressed,
// with a hash over all at their end. It knows bytes and nothing else: package state knows what rows mean, and package
// archive keeps streams in a directory.
//
// A snapshot is
//
//	"CAIRNSNP" | version 3 | zstd( size u64, rows, 0 uv, SHA-256 of all before it )
//
// A row is key length uv, key, value length uv, value; rows are in the order of their keys, as the store has them,
// none twice. Size is their bytes on the sender's disk, for a progress bar. The sender has read each row
// from a block with the checksum it was written with.
//
// A range of the log is
//
//	"CAIRNLOG" | version 2 | zstd( head, records, end, rows, 0 uv, SHA-256 of all before it )
//
// head is since u64, index u64, term u64, hash 32 bytes: the records after since lead from the state there to the one
// at index, whose hash it is. A record is index u64 (never 0), HLC 16 bytes, length u32, data; end is a u64 of 0.
// Where entries were erased from records, rows follow: of all that those entries may have changed, as of index.
package snapshot
