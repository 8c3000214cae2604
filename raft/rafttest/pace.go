package rafttest

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Election returns an election timeout for a test: d, or longer on a machine that is slow or busy. A member that
// hears nothing for the timeout stands for election, so a test's machine must not stand still for as long: the
// timeout is forty times the longest delay that the machine shows in a short while, twenty times d at most.
func Election(d time.Duration) time.Duration { return min(max(d, 40*delay()), 20*d) }

// delay measures, once a process, how late goroutines run and how long a small write to the disk takes, and returns
// the longest.
var delay = sync.OnceValue(func() (longest time.Duration) {
	dir, err := os.MkdirTemp("", "pace")
	if err != nil {
		return 0
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for range 20 {
		begin := time.Now()
		time.Sleep(time.Millisecond)
		if _, err := f.Write([]byte("x")); err != nil {
			return longest
		}
		if err := f.Sync(); err != nil {
			return longest
		}
		longest = max(longest, time.Since(begin)-time.Millisecond)
	}
	return longest
})
