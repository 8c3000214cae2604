//go:build !linux

package disk

import "os"

// allocate reserves the blocks of a file on the disk.
func allocate(f *os.File, size int64) error { return zeros(f, size) }
