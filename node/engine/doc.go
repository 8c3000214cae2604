// Package engine implements the memory operations for every surface and dialect. Do takes a caller, a row of api.Ops
// and its request through the door (right, leadership, rate, quota, freshness) to the row's function. These functions
// are here, one file for each subject.
//
// It opens no port and no file, and it decides nothing about the cluster: package commit brings its writes into the
// log, package index finds memories, package access identifies callers. Three packages work behind the same door:
// embedding makes vectors; thinking makes rounds of cognition and returns their results; operate administers databases
// and tokens, reports the cluster's status and makes backups. Package node connects all of it and starts its tasks.
//
// # Locks
//
// No lock is held over I/O, a channel or a callback. Methods of Service may be called from any goroutine.
package engine
