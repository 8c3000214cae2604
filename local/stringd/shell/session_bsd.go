//go:build !linux

package shell

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The requests that read and set a terminal's modes.
const getModes, setModes = unix.TIOCGETA, unix.TIOCSETA

// killSession kills the process group of the shell. The jobs get SIGHUP when the terminal closes.
func killSession(sid int) { _ = syscall.Kill(-sid, syscall.SIGKILL) }

// pollable returns the terminal unchanged.
func pollable(tty *os.File) (*os.File, error) { return tty, nil }
