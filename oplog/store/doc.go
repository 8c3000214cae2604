// Package store keeps rows, ordered by key, in a directory. Only it imports pebble, a log-structured merge tree:
// written rows stay in memory until a buffer is full, and then go into tables that never change. Their blocks have
// checksums, and they are merged in the background.
//
// There is no log of its own: the Raft log is the log.
//
// Invariant: after a crash the store is as it was after some batch, with all batches before it and nothing of those
// after it. It is never older than the last Flush that returned without an error. A batch is there whole or not at
// all. So an owner that stores its index of the Raft log in the batch with the effects applies each record exactly
// once.
//
// A block with a wrong checksum is never returned: its reader gets ErrDamaged. Check reads all blocks and finds the
// same before a reader does.
//
// On a full disk the store waits for space in the background (see disk.go); Full reports it. A disk that fails
// otherwise ends the store: what was flushed stays, and no more writes are accepted.
//
// With a keyring every file is sealed below pebble (sealed.go): the disk sees sizes and times.
//
// All methods may be called from any goroutine, those of one Batch, one Snapshot or one Builder from one at a time.
package store
