//go:build !linux

package shell

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// killSession kills the shell's own process group; its jobs get the terminal's hang-up.
func killSession(sid int) { _ = syscall.Kill(-sid, syscall.SIGKILL) }

// pollable is the terminal as it is.
func pollable(tty *os.File) (*os.File, error) { return tty, nil }

// quiet has the terminal neither echo nor turn newlines into pairs, whatever the last program left it as.
func quiet(tty *os.File) {
	rc, err := tty.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), unix.TIOCGETA)
		if err != nil {
			return
		}
		t.Lflag = t.Lflag&^(unix.ECHO|unix.ECHOE|unix.ECHOK|unix.ECHONL|unix.ECHOCTL) | unix.ICANON | unix.ISIG
		t.Iflag |= unix.ICRNL
		t.Oflag &^= unix.ONLCR
		_ = unix.IoctlSetTermios(int(fd), unix.TIOCSETA, t)
	})
}
