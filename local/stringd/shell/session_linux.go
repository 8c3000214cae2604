package shell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// getModes and setModes are the ioctl requests that read and set the modes of a terminal.
const getModes, setModes = unix.TCGETS, unix.TCSETS

// killSession kills every process of a session, because a shell with job control gives each job its own process
// group. It repeats until it finds no process, because a process may fork meanwhile.
func killSession(sid int) {
	for range 10 {
		killed := false
		for _, pid := range processes() {
			if s, state := sessionOf(pid); s == sid && state != "Z" && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed = true
			}
		}
		if !killed {
			return
		}
	}
}

func processes() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, n := range names {
		if pid, err := strconv.Atoi(filepath.Base(n)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessionOf returns the session and the state of a process. In the stat file, they follow the program's name, which
// may contain any characters.
func sessionOf(pid int) (sid int, state string) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, ""
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 4 {
		return 0, ""
	}
	sid, _ = strconv.Atoi(f[3])
	return sid, f[0]
}

// pollable returns the terminal as a file whose Close ends a blocked Read. A process that left the session may keep
// the other end open.
func pollable(tty *os.File) (*os.File, error) {
	defer tty.Close()
	fd, err := unix.FcntlInt(tty.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	return os.NewFile(uintptr(fd), "terminal"), err
}
