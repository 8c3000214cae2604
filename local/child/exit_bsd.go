//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package child

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// AwaitExit returns when the process has ended, and leaves it a zombie.
func AwaitExit(p *os.Process) {
	kq, err := unix.Kqueue()
	if err != nil {
		return // the caller's Wait waits too
	}
	defer unix.Close(kq)
	var change, event [1]unix.Kevent_t
	unix.SetKevent(&change[0], p.Pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for {
		if _, err := unix.Kevent(kq, change[:], event[:], nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
