package raft

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time since the machine started, with the time it slept.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
