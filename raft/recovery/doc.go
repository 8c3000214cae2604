// Package recovery finds lost records and rebuilds damaged logs: how far each member's log reached (Acknowledged),
// whether the leader's records are the ones applied here (Chain), and the log that a node which is alone makes of
// what its files still prove (Continue, WriteSalvaged). It opens no connections and starts no goroutines; only
// package raft calls it, and decides when.
package recovery
