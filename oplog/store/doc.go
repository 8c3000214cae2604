// Package store keeps rows, ordered by key, in a directory. It is the one place that knows pebble, a log-structured
// merge tree: what was written lies in memory until a buffer of it has gathered, then in tables that are never
// changed, whose blocks have checksums, and which are merged in the background.
//
// There is no log of its own: the Raft log is the log.
//
// Invariant: after a crash the store is as it was after some batch, with all of the batches before it and nothing of
// those behind it. It is never before the last Flush that returned without an error. A batch is there whole or not at
// all.
//
// So an owner that stores its place in the Raft log in the batch that has the effects applies what follows exactly
// once.
//
// A block that does not have the checksum it was written with is never given out: its reader gets ErrDamaged. Check
// reads all blocks and finds the same before a reader does.
//
// A disk without room is waited for in the background (see disk.go); Full says so. A disk that fails otherwise ends
// the store: what was flushed stays, and nothing more is taken.
//
// With a keyring every file is sealed below pebble (sealed.go): the disk sees sizes and times.
//
// All methods may be called from any goroutine, but those of one Batch, one Snapshot and one Builder from one at a
// time.
package store
