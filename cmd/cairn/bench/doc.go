// Package bench measures nodes. `cairn bench` has the benches that choose and size a cluster: load, recall, write and
// compare. cmd/lab, which is not shipped, adds those that prove Cairn, and makes them of the same parts: a Rig,
// Loaders, Made memories and Plots.
//
// A bench starts its nodes on loopback, in this process or in processes of cairn, in temporary directories that it
// removes; or it measures a cluster that runs. Results go to stdout, progress goes to stderr.
package bench
