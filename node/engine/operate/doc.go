// Package operate does what a node's operator relies on, behind the engine's door: it makes the backups of the whole
// state, by a plan or to be downloaded, and verifies that they restore.
//
// Methods of Backups may be called from any goroutine, Next from one.
package operate
