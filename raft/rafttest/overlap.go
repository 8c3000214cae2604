package rafttest

import (
	"flag"
	"strconv"
	"testing"
)

// Overlap runs a package's tests, so many of them at once: they wait for elections, timers and disks more than they
// compute, so that the number of processors is not a measure for them. Under the race detector they compute several
// times as much, and half as many run. A -parallel on the command line wins.
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
