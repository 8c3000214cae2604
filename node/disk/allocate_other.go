//go:build !linux

package disk

import "os"

// allocate gives a file its blocks on the disk.
func allocate(f *os.File, size int64) error { return zeros(f, size) }
