package logstore

import (
	"errors"
	"os"
	"syscall"
)

// syncData puts a file's bytes on the disk, and of what the system knows about it only what finding them needs.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
