//go:build !soak

package main

import "time"

// How long a listener is bombed, by all bombs at once; how slow an answer may be where three times as slow is nothing to
// go by, because the bombs take the processors that the node wants; how much more memory the node may take.
const (
	bombsApart   = false
	bombShare    = 25 // per cent of the clients
	bombTime     = 1500 * time.Millisecond
	bombPatience = 20 * time.Second
	bombMemory   = 640 << 20
)
