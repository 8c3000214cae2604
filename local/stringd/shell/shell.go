// Package shell runs programs for agents: a single line in its own shell (Once), or a sequence of commands in one
// bash on a pseudo-terminal, which keeps its directory, variables and functions (Shell).
//
// A command is not typed into the terminal, because a terminal line holds only about 4 KiB, and a program that reads
// stdin would consume the following input. The command is written to a file. One short typed line sources the file
// and prints a marker with the status and the directory. The marker is random for each command. It goes to /dev/tty,
// so that it also appears if the command redirects its output.
//
// The package does not check whether a program may run. Package command asks the door before it calls Once or Run.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/creack/pty"
)

// MaxOutput bounds the output that is kept of a command.
const MaxOutput = 1 << 20

// Out is the result of a command.
type Out struct {
	Text     string
	Status   int
	CWD      string
	TimedOut bool
}

// Config is shared by all commands of a shell.
type Config struct {
	Environ []string      // without HOME, which each command sets
	Temp    string        // directory for command files
	Grace   time.Duration // 2s: from Ctrl-C until the terminal's programs are killed
}

// Shell is one bash. It starts with the first command, and again after it has ended. Only one Run may be active;
// Close and Alive are safe at any time.
type Shell struct {
	cfg Config

	mu     sync.Mutex // guards the fields below
	proc   *process
	closed bool
}

// New returns a shell that has not started.
func New(cfg Config) *Shell {
	cfg.Grace = cmp.Or(cfg.Grace, 2*time.Second)
	return &Shell{cfg: cfg}
}

// ErrClosed is the error of a closed shell.
var ErrClosed = errors.New("the shell is closed")

// Alive reports whether a bash is running.
func (s *Shell) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc != nil && !s.proc.ended()
}

// Close kills bash and everything started in its terminal. The shell stays closed.
func (s *Shell) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.Reset()
}

// Reset kills bash. The next command starts a new one.
func (s *Shell) Reset() {
	s.mu.Lock()
	l := s.proc
	s.proc = nil
	s.mu.Unlock()
	if l != nil {
		l.kill()
	}
}

// Run runs a command. After the timeout it interrupts the command, and kills it if the interrupt has no effect.
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
		l.kill() // closes its terminal
	}
	return out, err
}

// start returns the running bash, or starts one.
func (s *Shell) start(home string) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.proc != nil && !s.proc.ended() {
		return s.proc, nil
	}
	c := exec.Command("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
	c.Dir = home
	c.Env = append(slices.Clone(s.cfg.Environ), "HOME="+home, "PWD="+home, "TERM=dumb", "PS1=", "PS2=", "PROMPT_COMMAND=", "HISTFILE=")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Cols: 200, Rows: 24})
	if err != nil {
		return nil, fmt.Errorf("start shell: %w", err)
	}
	if tty, err = pollable(tty); err != nil {
		killSession(c.Process.Pid)
		return nil, errors.Join(fmt.Errorf("start shell: %w", err), c.Wait())
	}
	l := &process{tty: tty, cmd: c, grace: s.cfg.Grace, cwd: home, wake: make(chan struct{}, 1), exited: make(chan struct{})}
	l.tasks.Go(l.read)
	go l.wait() // ends with the process
	s.proc = l
	return l, nil
}
