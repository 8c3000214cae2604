package shell

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// process is one running bash.
type process struct {
	tty    *os.File
	cmd    *exec.Cmd
	grace  time.Duration
	tasks  sync.WaitGroup
	wake   chan struct{} // signaled when there is output
	exited chan struct{} // closed when bash has ended and been waited for

	mu       sync.Mutex // guards the fields below
	output   outputBuffer
	cwd      string
	killOnce sync.Once
}

func (l *process) ended() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

func (l *process) wait() {
	_ = l.cmd.Wait() // the status is read from ProcessState
	killSession(l.cmd.Process.Pid)
	close(l.exited)
}

// kill ends bash and its terminal and waits for both.
func (l *process) kill() {
	l.killOnce.Do(func() {
		killSession(l.cmd.Process.Pid)
		_ = l.cmd.Process.Kill()
		<-l.exited
		l.tty.Close()
		l.tasks.Wait()
	})
}

func (l *process) read() {
	b := make([]byte, 32<<10)
	for {
		n, err := l.tty.Read(b)
		l.mu.Lock()
		l.output.write(b[:n])
		l.mu.Unlock()
		select {
		case l.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// disableEcho switches off the echo and the newline translation of the terminal, which programs may have changed.
func disableEcho(tty *os.File) {
	rc, err := tty.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), getModes)
		if err != nil {
			return
		}
		t.Lflag = t.Lflag&^(unix.ECHO|unix.ECHOE|unix.ECHOK|unix.ECHONL|unix.ECHOCTL) | unix.ICANON | unix.ISIG
		t.Iflag |= unix.ICRNL
		t.Oflag &^= unix.ONLCR
		_ = unix.IoctlSetTermios(int(fd), setModes, t)
	})
}

// run makes bash source a file.
func (l *process) run(ctx context.Context, file string, timeout time.Duration) (Out, error) {
	l.mu.Lock()
	l.output = outputBuffer{}
	l.mu.Unlock()
	disableEcho(l.tty)
	token := rand.Text()
	if err := l.typeLine(". '"+strings.ReplaceAll(file, "'", `'\''`)+"'", token); err != nil {
		return l.finalOutput(), nil // bash ended between commands
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	out, ok := l.awaitMarker(token, deadline.C, ctx.Done())
	if ok {
		return out, nil
	}
	return l.interrupt(), nil
}

// typeLine types a line that runs cmd and then prints the marker with the token. The line contains the token in two
// pieces, so that the echo of the line is not mistaken for the marker. The marker must be the last output, because
// anything after it would belong to the next command.
func (l *process) typeLine(cmd, token string) error {
	if cmd != "" {
		cmd += "; "
	}
	_, err := fmt.Fprintf(l.tty, "%sbuiltin printf '\\n\\036%%s%%s|%%d|%%s\\036' %s %s \"$?\" \"$PWD\" >/dev/tty\n", cmd,
		token[:10], token[10:])
	return err
}

// awaitMarker waits for the marker or the end of bash. ok is false if stop or done comes first.
func (l *process) awaitMarker(token string, stop <-chan time.Time, done <-chan struct{}) (out Out, ok bool) {
	for {
		if out, ok := l.findMarker(token); ok {
			return out, true
		}
		select {
		case <-l.wake:
		case <-l.exited:
			// The last output of bash may not have passed the terminal yet.
			if out, ok := l.findMarker(token); ok {
				return out, true
			}
			return l.finalOutput(), true
		case <-stop:
			return Out{}, false
		case <-done:
			return Out{}, false
		}
	}
}

func (l *process) findMarker(token string) (Out, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, rest, ok := l.output.splitAt("\n\x1e" + token + "|")
	if !ok {
		// A terminal that turns newlines into CR LF inserts a CR.
		if text, rest, ok = l.output.splitAt("\x1e" + token + "|"); !ok {
			return Out{}, false
		}
	}
	status, cwd, ok := strings.Cut(rest, "|")
	if !ok {
		return Out{}, false
	}
	cwd, _, ok = strings.Cut(cwd, "\x1e")
	if !ok {
		return Out{}, false
	}
	n, _ := strconv.Atoi(status)
	l.cwd = cwd
	return Out{Text: text, Status: n, CWD: cwd}, true
}

// finalOutput returns the output of a bash that has ended.
func (l *process) finalOutput() Out {
	<-l.exited
	l.drain()
	l.mu.Lock()
	defer l.mu.Unlock()
	return Out{Text: strings.TrimSuffix(clean(l.output.all()), "\nexit"), Status: status(l.cmd.ProcessState), CWD: l.cwd}
}

// linger bounds the wait for output after the end of the program.
const linger = 500 * time.Millisecond

// drain waits until the reader reaches the end of the terminal. A process that left the session may keep it open.
// Then drain waits until there is nothing to read, or for a few seconds.
func (l *process) drain() {
	done := make(chan struct{})
	go func() { l.tasks.Wait(); close(done) }()
	for range 10 {
		select {
		case <-done:
			return
		case <-time.After(linger):
		}
		if !readable(l.tty) {
			return
		}
	}
}

// readable reports whether a read would return at once.
func readable(f *os.File) (ok bool) {
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	_ = rc.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		ok = err == nil && n > 0
	})
	return ok
}

// interrupt stops the foreground program, first with Ctrl-C, then by killing all processes of the terminal.
func (l *process) interrupt() Out {
	l.mu.Lock()
	partial := clean(l.output.all())
	l.mu.Unlock()
	out := Out{Text: partial, Status: 130, CWD: l.cwd, TimedOut: true}
	if l.resync() {
		out.CWD = l.cwd
		return out
	}
	l.kill()
	return out
}

// resync makes bash ready for the next line. Ctrl-C discards the typed line, and bash may lose the beginning of the
// line that it reads at that moment. So resync types an empty line first, and requests markers until one arrives. It
// sends Ctrl-C repeatedly, because bash loses one while it hands the terminal to a program.
func (l *process) resync() bool {
	end := time.Now().Add(l.grace)
	for i := 0; ; i++ {
		if i%2 == 0 {
			if _, err := l.tty.Write([]byte("\x03\n")); err != nil {
				return false
			}
		}
		token := rand.Text()
		if l.typeLine("", token) != nil {
			return false
		}
		timer := time.NewTimer(min(200*time.Millisecond<<(i/2), time.Until(end)))
		_, ok := l.awaitMarker(token, timer.C, l.exited)
		timer.Stop()
		if ok {
			return !l.ended()
		}
		if l.ended() || !time.Now().Before(end) {
			return false
		}
	}
}
