package rafttest

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Election returns an election timeout for a test: d, or longer on a machine that is slow or busy. A member that
// hears nothing for the timeout stands for election, so the machine must not pause for as long. The timeout is forty
// times the longest delay that the machine shows in a short while, but at most 20*d.
func Election(d time.Duration) time.Duration { return min(max(d, 40*delay()), 20*d) }

// delay measures, once per process, how late goroutines run and how long a small write to the disk takes. It returns
// the longest of these times.
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
