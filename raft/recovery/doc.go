// Package recovery is what a member knows of records that may be lost, and what is made of a log that is damaged: how far the
// members' logs reached (Acknowledged), whether the leader's records are the ones that are applied here (Chain), what a log holds
// that a snapshot contradicts (DropSuperseded), and the log that a node which is alone makes of what its files still prove
// (Continue, WriteSalvaged). When which of it is done, raft decides.
package recovery
