package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrHeld says that another process has the state open.
var ErrHeld = errors.New("held by another process")

// lockFile is held locked, in the directory of a state, by the process that has it open.
const lockFile = "LOCK"

// holdWait is how long a process that ends is waited for.
const holdWait = 2 * time.Second

// hold locks the directory of a state until the file is closed.
func hold(dir string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // it goes with the descriptor
		if err == nil {
			return f, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(ErrHeld, f.Close())
		}
	}
}

// Held says whether a process has the state in a directory open.
func Held(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return false
	}
	f, err := hold(dir, 0)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, ErrHeld)
}
