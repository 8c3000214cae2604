package raft

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed returns the time since the machine started, including sleep.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
