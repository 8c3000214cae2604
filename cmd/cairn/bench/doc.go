// Package bench is `cairn bench`: each bench is a row of the registry and a file of its own. Benches start their nodes on loopback, in
// this process or as processes of this binary, in temporary directories that they remove; some measure a cluster that runs.
// Results go to stdout; what is under way goes to stderr.
package bench
