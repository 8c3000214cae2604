// Package engine is the memory: what every surface and dialect asks, behind one door. Do takes a caller, a row of
// api.Ops and its request through the door (right, leadership, rate, quota, freshness) to the function of the row;
// those functions are here, a file a subject.
//
// It opens no port and no file, and it decides nothing about the cluster: package commit brings its writes into the
// log, package index finds, package access knows who is calling. Three rooms stand behind the same door: package
// embedding makes vectors, package thinking makes rounds of cognition and answers what came of them, package operate
// administers databases and tokens, says how the cluster is and makes backups. Package node puts all of it together and
// starts its tasks.
//
// # Locks
//
// No lock is held over I/O, a channel or a callback. Methods of Service may be called from any goroutine.
package engine
