//go:build !linux

package shell

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// getModes and setModes are the ioctl requests that read and set the modes of a terminal.
const getModes, setModes = unix.TIOCGETA, unix.TIOCSETA

// killSession kills the process group of the shell. The jobs get SIGHUP when the terminal closes.
func killSession(sid int) { _ = syscall.Kill(-sid, syscall.SIGKILL) }

// pollable returns the terminal unchanged.
func pollable(tty *os.File) (*os.File, error) { return tty, nil }
