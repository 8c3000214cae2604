package logstore

import (
	"errors"
	"os"
	"syscall"
)

// syncData writes a file's bytes to disk, with only the metadata that is needed to find them.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
