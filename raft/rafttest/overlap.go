package rafttest

import (
	"flag"
	"strconv"
	"testing"
)

// Overlap runs a package's tests, n of them at once. They mostly wait for elections, timers and disks, so the number
// of processors is no measure of how many can run. Under the race detector they compute several times as much, so
// half as many run. A -parallel flag on the command line overrides n.
func Overlap(m *testing.M, n int) (code int) {
	const name = "test.parallel"
	if raced {
		n /= 2
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		if err := flag.Set(name, strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
