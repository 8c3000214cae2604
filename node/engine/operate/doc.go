// Package operate implements the operations for operators, behind the engine's door. Cluster reports the state of the
// node and its cluster, including keys, certificates and the last day of every node; it monitors the other members
// and changes the membership. Admin administers databases with their quotas and policies, tokens and consents, and
// lists the audit. Backups makes backups of the whole state, by a plan or for download, and verifies that they
// restore.
//
// The package knows neither memories nor the engine. It queries the other members over raft's connections. Each
// status queries all of them; callers that must not wait use the result of the last poll.
//
// Methods of Cluster, Admin and Backups may be called from any goroutine; the tasks Poll, Compare, Sample and Next
// from one goroutine each. Methods that use Raft may be called only after Start.
package operate
