//go:build !linux

package raft

import "time"

// elapsed uses the wall clock, because these systems have no common clock that counts sleep. A jump of this node's
// clock is noticed when the next heartbeat brings the others' clocks.
func elapsed() time.Duration { return time.Duration(time.Now().UnixNano()) }
