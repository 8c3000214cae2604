// Package home manages the data directory of a node: the places of its files, their encryption, the notes that a run
// leaves for the next start, and the commands that work on the files of a stopped node. It opens no port and starts
// no task. Package node calls it before it opens the state. Commands call it while no node runs; the lock of the
// state ensures that.
package home
