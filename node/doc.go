// Package node runs a Cairn node. Open opens the files of a home and connects the parts in this order: the state,
// package engine around it, the index that follows the state, consensus, and the ports of clients. Close closes them
// in reverse. DESIGN.md has an overview. Commands and tests call this package; the packages below it do not.
//
// # Goroutines
//
// Every task is started by spawn, has a name and ends with the node. The first task that fails stops the node. No
// lock is held during I/O, channel operations or callbacks.
package node
