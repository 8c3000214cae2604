// Package bench measures nodes. `cairn bench` has the benches that help to choose and size a cluster: load, recall,
// write and compare. cmd/lab, which is not shipped, has further benches for Cairn's developers. They use the same
// parts: Rig, Loader, Generator and Plot.
//
// A bench measures a running cluster, or starts its own nodes on loopback in temporary directories, in this process
// or in processes of cairn. Results go to stdout, progress goes to stderr.
package bench
