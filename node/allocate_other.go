//go:build !linux

package node

import "os"

// allocate gives a file room on the disk.
func allocate(f *os.File, size int64) error { return zeros(f, size) }
