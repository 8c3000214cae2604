// Package recovery finds lost records and rebuilds damaged logs. It remembers how far each member's log reached
// (Acknowledged), and rebuilds the log of a node that is alone from the intact records in its files (RebuildLog,
// WriteSalvaged). It opens no connections and starts no goroutines; only package raft calls it, and decides when.
package recovery
