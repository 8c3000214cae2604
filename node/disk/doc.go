// Package disk measures the free space below a node's home and keeps a reserve there for the next start. A full disk
// stops no node: writes are rejected before they reach the log, reads continue, and committed records are applied when
// there is space.
//
// The package is independent of raft, state and index. Package node measures at an interval, the proposer checks
// Refusal before it accepts an entry, and after an error, writers to the disk check Caused and then Wait before they
// try again.
package disk
