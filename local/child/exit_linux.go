package child

import (
	"os"

	"golang.org/x/sys/unix"
)

// AwaitExit returns when the process has ended, and leaves it a zombie. It holds no thread while it waits.
func AwaitExit(p *os.Process) {
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK)
	if err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		if rc, cerr := f.SyscallConn(); cerr == nil {
			err = rc.Read(func(uintptr) bool { return ended(p.Pid, unix.WNOHANG) })
		}
		if err == nil && ended(p.Pid, unix.WNOHANG) {
			return
		}
	}
	for !ended(p.Pid, 0) { // an old kernel: wait with a thread
	}
}

func ended(pid, flags int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
	return err == nil && info.Signo != 0 || err == unix.ECHILD
}
