//go:build !soak

package main

import "time"

// How long a listener is bombed, by all bombs at once, and how much more memory the node may take. How slow an answer may be is a matter
// of the build tag soak: here other tests run beside it.
const (
	bombsApart   = false
	bombShare    = 25 // per cent of the clients
	bombTime     = 1500 * time.Millisecond
	bombPatience = time.Duration(0)
	bombMemory   = 640 << 20
)
