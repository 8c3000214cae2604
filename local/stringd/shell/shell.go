// Package shell runs programs for agents: one line at a time in a shell of its own (Once), or command after command in
// one bash on a pseudo-terminal that remembers directory, variables and functions (Shell).
//
// A command is never typed into the terminal: a terminal's line holds about four kilobytes, and programs that read
// would eat what follows. It is written to a file, and one short line sources the file and prints a marker with the
// status and the directory. The marker is random for each command, and goes to /dev/tty, so that a command which
// redirects its own output cannot lose it.
package shell

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// MaxOutput is how much of a command's output is kept.
const MaxOutput = 1 << 20

// Out is what a command came to.
type Out struct {
	Text     string
	Status   int
	CWD      string
	TimedOut bool
}

// Config is the same for all commands of a shell.
type Config struct {
	Environ []string      // without HOME
	Temp    string        // directory for command files
	Grace   time.Duration // 2s: what a program has to end in after Ctrl-C
}

// Shell is one bash. It starts with the first command, and again after it has ended. Run is called by one goroutine at
// a time, Close and Alive by any.
type Shell struct {
	cfg Config

	mu     sync.Mutex // guards the fields below
	live   *live
	closed bool
}

// New makes a shell that has not started.
func New(cfg Config) *Shell {
	cfg.Grace = cmp.Or(cfg.Grace, 2*time.Second)
	return &Shell{cfg: cfg}
}

// ErrClosed is what a closed shell answers.
var ErrClosed = errors.New("the shell is closed")

// Alive says whether a bash is running.
func (s *Shell) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live != nil && !s.live.ended()
}

// Close kills bash and everything started in its terminal. The shell stays closed.
func (s *Shell) Close() {
	s.mu.Lock()
	l := s.live
	s.live, s.closed = nil, true
	s.mu.Unlock()
	if l != nil {
		l.kill()
	}
}

// Reset kills bash; the next command gets a fresh one.
func (s *Shell) Reset() {
	s.mu.Lock()
	l := s.live
	s.live = nil
	s.mu.Unlock()
	if l != nil {
		l.kill()
	}
}

// Run runs a command. When it takes longer than timeout it is interrupted, and killed when that does not help in time.
func (s *Shell) Run(ctx context.Context, home, cmd string, timeout time.Duration) (Out, error) {
	l, err := s.start(home)
	if err != nil {
		return Out{}, err
	}
	file, err := os.CreateTemp(s.cfg.Temp, "c")
	if err != nil {
		return Out{}, err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(cmd + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return Out{}, err
	}
	out, err := l.run(ctx, file.Name(), timeout)
	if l.ended() {
		s.drop(l)
	}
	return out, err
}

func (s *Shell) drop(l *live) {
	s.mu.Lock()
	if s.live == l {
		s.live = nil
	}
	s.mu.Unlock()
	l.kill()
}

// start gives the running bash, or starts one.
func (s *Shell) start(home string) (*live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.live != nil && !s.live.ended() {
		return s.live, nil
	}
	c := exec.Command("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
	c.Dir = home
	c.Env = append(bytesafe(s.cfg.Environ), "HOME="+home, "PWD="+home, "TERM=dumb", "PS1=", "PS2=", "PROMPT_COMMAND=", "HISTFILE=")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Cols: 200, Rows: 24})
	if err != nil {
		return nil, fmt.Errorf("start shell: %w", err)
	}
	if tty, err = pollable(tty); err != nil {
		killSession(c.Process.Pid)
		return nil, errors.Join(fmt.Errorf("start shell: %w", err), c.Wait())
	}
	l := &live{tty: tty, cmd: c, grace: s.cfg.Grace, cwd: home, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	l.tasks.Go(l.read)
	go l.wait() // ends with the process, which kill ends
	s.live = l
	return l, nil
}

func bytesafe(env []string) []string { return append([]string(nil), env...) }

// live is one running bash.
type live struct {
	tty   *os.File
	cmd   *exec.Cmd
	grace time.Duration
	tasks sync.WaitGroup
	wake  chan struct{} // output has come
	gone  chan struct{} // closed when bash has ended and been waited for

	mu   sync.Mutex // guards the fields below
	buf  capture
	cwd  string
	once sync.Once
}

func (l *live) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *live) wait() {
	_ = l.cmd.Wait() // the status is read from ProcessState
	killSession(l.cmd.Process.Pid)
	close(l.gone)
}

// kill ends bash and its terminal, and waits for both.
func (l *live) kill() {
	l.once.Do(func() {
		killSession(l.cmd.Process.Pid)
		_ = l.cmd.Process.Kill()
		<-l.gone
		l.tty.Close()
		l.tasks.Wait()
	})
}

func (l *live) read() {
	b := make([]byte, 32<<10)
	for {
		n, err := l.tty.Read(b)
		l.mu.Lock()
		l.buf.write(b[:n])
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

// run has bash source a file.
func (l *live) run(ctx context.Context, file string, timeout time.Duration) (Out, error) {
	l.mu.Lock()
	l.buf = capture{}
	l.mu.Unlock()
	quiet(l.tty)
	token := rand.Text()
	if err := l.say(". '"+strings.ReplaceAll(file, "'", `'\''`)+"'", token); err != nil {
		return l.last(), nil // bash ended between commands
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	out, ok := l.await(token, deadline.C, ctx.Done())
	if ok {
		return out, nil
	}
	return l.interrupt(), nil
}

// say types a line that runs cmd and prints the token. The token is in two pieces there: an echo is no marker. Nothing
// follows the marker's last byte: it would be the next command's.
func (l *live) say(cmd, token string) error {
	if cmd != "" {
		cmd += "; "
	}
	_, err := fmt.Fprintf(l.tty, "%sbuiltin printf '\\n\\036%%s%%s|%%d|%%s\\036' %s %s \"$?\" \"$PWD\" >/dev/tty\n", cmd, token[:10], token[10:])
	return err
}

// await waits for the marker, for the end of bash, or until it is to be stopped: ok is false then.
func (l *live) await(token string, stop <-chan time.Time, done <-chan struct{}) (out Out, ok bool) {
	for {
		if out, ok := l.marked(token); ok {
			return out, true
		}
		select {
		case <-l.wake:
		case <-l.gone:
			// What bash said last may still be on its way through the terminal.
			if out, ok := l.marked(token); ok {
				return out, true
			}
			return l.last(), true
		case <-stop:
			return Out{}, false
		case <-done:
			return Out{}, false
		}
	}
}

func (l *live) marked(token string) (Out, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, rest, ok := l.buf.cut("\n\x1e" + token + "|")
	if !ok {
		// A terminal that turns newlines into CR LF has the CR first.
		if text, rest, ok = l.buf.cut("\x1e" + token + "|"); !ok {
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

// last is the answer of a bash that ended.
func (l *live) last() Out {
	<-l.gone
	l.drain()
	l.mu.Lock()
	defer l.mu.Unlock()
	return Out{Text: strings.TrimSuffix(clean(l.buf.all()), "\nexit"), Status: status(l.cmd.ProcessState), CWD: l.cwd}
}

// drain waits until the reader has met the end of the terminal: everything that had it open is dead by now.
func (l *live) drain() {
	done := make(chan struct{})
	go func() { l.tasks.Wait(); close(done) }()
	drained(done, l.tty)
}

// linger is how long output may come after its program's end.
const linger = 500 * time.Millisecond

// drained waits until the reader of a file is done. A process that left the session may have its other end still: then until
// there is nothing to read, or for some seconds.
func drained(done <-chan struct{}, f *os.File) {
	for range 10 {
		select {
		case <-done:
			return
		case <-time.After(linger):
		}
		if !readable(f) {
			return
		}
	}
}

// readable says whether a read would not wait: there is something, or the end.
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

// interrupt stops the foreground program: politely first, then with everything in the terminal.
func (l *live) interrupt() Out {
	l.mu.Lock()
	partial := clean(l.buf.all())
	l.mu.Unlock()
	out := Out{Text: partial, Status: 130, CWD: l.cwd, TimedOut: true}
	if l.recover() {
		out.CWD = l.cwd
		return out
	}
	l.kill()
	return out
}

// recover brings bash back to where it takes a line. Ctrl-C discards what was typed, and bash may lose the beginning of the
// line that it reads at that moment: hence an empty one first, and a marker that is asked for until one comes. A Ctrl-C that
// comes while bash hands the terminal on is lost, so there is more than one.
func (l *live) recover() bool {
	end := time.Now().Add(l.grace)
	for i := 0; ; i++ {
		if i%2 == 0 {
			if _, err := l.tty.Write([]byte("\x03\n")); err != nil {
				return false
			}
		}
		token := rand.Text()
		if l.say("", token) != nil {
			return false
		}
		again := time.NewTimer(min(200*time.Millisecond<<(i/2), time.Until(end)))
		_, ok := l.await(token, again.C, l.gone)
		again.Stop()
		if ok {
			return !l.ended()
		}
		if l.ended() || !time.Now().Before(end) {
			return false
		}
	}
}

func status(p *os.ProcessState) int {
	if p == nil {
		return -1
	}
	return exitStatus(p)
}

// capture keeps the beginning of a stream, and its end for the marker.
type capture struct {
	head  []byte
	tail  []byte
	total int
}

const tailSize = 8 << 10

func (c *capture) write(b []byte) {
	c.total += len(b)
	if room := MaxOutput - len(c.head); room > 0 {
		c.head = append(c.head, b[:min(room, len(b))]...)
	}
	c.tail = append(c.tail, b...)
	if len(c.tail) > 8*tailSize {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-tailSize:]...)
	}
}

// cut splits the stream at a marker.
func (c *capture) cut(marker string) (text, rest string, ok bool) {
	i := bytes.LastIndex(c.tail, []byte(marker))
	if i < 0 {
		return "", "", false
	}
	return clean(c.upTo(c.total - (len(c.tail) - i))), string(c.tail[i+len(marker):]), true
}

func (c *capture) all() string { return c.upTo(c.total) }

func (c *capture) upTo(n int) string {
	if n <= len(c.head) {
		return string(c.head[:n])
	}
	return string(c.head) + truncated(n-len(c.head))
}

func truncated(n int) string { return fmt.Sprintf("\n... (truncated, %d bytes omitted)", n) }
