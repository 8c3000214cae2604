// Package node is one running Cairn node, and what only the whole knows: Open opens the files of a home and puts the
// rooms together in order: the state, package engine around it, the index that follows it, consensus, and the ports of
// clients. Close takes them apart in reverse. DESIGN.md has the map. A process, or a test, calls it; nothing below it
// does.
//
// # Goroutines
//
// Every task is started by spawn, has a name and ends with the node; the first that fails brings the node down. No lock
// is held over I/O, a channel or a callback.
package node
