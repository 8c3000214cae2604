// Package disk measures the free space below a node's home and keeps a reserve there for the next start. A full disk
// stops no node: writes are rejected before they reach the log, reads go on, and records that are committed already
// are applied when there is room.
//
// The package knows nothing of raft, state or index: node measures at an interval, the proposer asks for Refusal
// before it takes an entry, and what writes to the disk asks with Caused whether to Wait and try again.
package disk
