// Package home is the directory a node lives in: where its files lie, what they are encrypted with, what a run leaves
// for the next start, and what commands do to the files of a node that does not run. It opens no port and starts no
// task. Package node calls it before it opens the state; commands call it while no node runs, which the state's lock
// makes sure of.
package home
