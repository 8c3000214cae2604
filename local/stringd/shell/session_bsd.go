//go:build !linux

package shell

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The requests that read and set a terminal's modes.
const getModes, setModes = unix.TIOCGETA, unix.TIOCSETA

// killSession kills the shell's own process group; its jobs get the terminal's hang-up.
func killSession(sid int) { _ = syscall.Kill(-sid, syscall.SIGKILL) }

// pollable returns the terminal as it is.
func pollable(tty *os.File) (*os.File, error) { return tty, nil }
