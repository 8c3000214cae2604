package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrLocked reports that another process has the state open.
var ErrLocked = errors.New("in use by another process")

// lockFile, in the directory of a state, is locked by the process that has it open.
const lockFile = "LOCK"

// lockWait limits the time that Open waits for a process that is ending.
const lockWait = 2 * time.Second

// lockDir locks the directory of a state until the file is closed.
func lockDir(dir string, wait time.Duration) (*os.File, error) {
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
			return nil, errors.Join(ErrLocked, f.Close())
		}
	}
}

// Locked reports whether a process has the state in a directory open.
func Locked(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return false
	}
	f, err := lockDir(dir, 0)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, ErrLocked)
}
