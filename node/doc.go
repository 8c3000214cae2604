// Package node is one running Cairn node. Open opens the files of a home and connects the parts in order: the state,
// package engine around it, the index that follows it, consensus, and the ports of clients. Close closes them in
// reverse. DESIGN.md has the map. A process or a test calls this package; nothing below it does.
//
// # Goroutines
//
// Every task is started by spawn, has a name and ends with the node; the first that fails brings the node down. No lock
// is held over I/O, a channel or a callback.
package node
