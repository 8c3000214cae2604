package disk

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves the blocks of a file on the disk.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return zeros(f, size)
	}
	return err
}
