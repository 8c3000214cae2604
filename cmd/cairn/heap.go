package main

import "runtime"

// heapFloor is what the garbage collector takes to be in use at least. It runs when the heap has doubled: of a small node's
// every few requests of megabytes, and each time all others wait for it a little. It costs address space, and up to as much
// garbage; no page of it is ever touched.
const heapFloor = 64 << 20

// holdFloor keeps the floor until what it returns is called.
func holdFloor() (release func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
