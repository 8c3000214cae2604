// Package operate does what the operator of a node relies on, behind the engine's door. Cluster reports how the node
// and its cluster are, with keys, certificates and the last day of every node, watches the other members and changes
// who belongs to them. Admin administers databases with their quotas and policies, tokens and consents, and tells who
// did what. Backups makes backups of the whole state, by a plan or to be downloaded, and verifies that they restore.
//
// It knows no memory and nothing of the engine. It asks the other members over the log's connections, and each status
// asks all of them: what must not wait reads the last look.
//
// Methods of Cluster, Admin and Backups may be called from any goroutine, the tasks Poll, Compare, Sample and Next
// from one each. What asks Raft is for after Start.
package operate
