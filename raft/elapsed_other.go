//go:build !linux

package raft

import "time"

// elapsed uses the wall clock, because these systems have no common clock that counts sleep. If this node's clock
// jumps, the next heartbeat corrects it with the others' clocks.
func elapsed() time.Duration { return time.Duration(time.Now().UnixNano()) }
