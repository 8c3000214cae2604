package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Line is one command for a shell of its own.
type Line struct {
	Text    string
	Dir     string
	Environ []string
	Timeout time.Duration
}

// Once runs a line with /bin/bash -c. Output and errors come in one stream, input is empty. Nothing of its process
// group is left when it returns: what is to live longer belongs into a Shell.
func Once(ctx context.Context, l Line) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/bash", "-c", l.Text)
	if len(l.Text) > maxArgument {
		script, err := pipe(l.Text)
		if err != nil {
			return Out{}, err
		}
		defer script.Close() // ends the writer, too
		c = exec.CommandContext(ctx, "/bin/bash", "/dev/fd/3")
		c.ExtraFiles = []*os.File{script}
	}
	c.Dir, c.Env = l.Dir, l.Environ
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	r, w, err := os.Pipe()
	if err != nil {
		return Out{}, err
	}
	defer r.Close() // ends its reader, too
	c.Stdout, c.Stderr = w, w
	err = c.Start()
	w.Close()
	if err != nil && ctx.Err() != nil { // it took so long to begin
		return Out{CWD: l.Dir, Status: -1, TimedOut: true}, nil
	}
	if err != nil {
		return Out{}, err
	}
	var out sink
	done := make(chan struct{})
	go func() { _, _ = io.Copy(&out, r); close(done) }()
	err = c.Wait()
	o := Out{CWD: l.Dir, Status: status(c.ProcessState), TimedOut: ctx.Err() != nil}
	select {
	case <-done:
	case <-time.After(linger): // what bash left behind may have a last word
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // ESRCH when all are gone
	drained(done, r)
	o.Text = out.text()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !o.TimedOut {
		return o, err
	}
	return o, nil
}

// maxArgument is what the system surely takes as one argument; a longer line is read from a pipe.
const maxArgument = 100 << 10

// pipe gives a file that reads as text.
func pipe(text string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // ends when all is read, or the pipe is closed
		_, _ = w.WriteString(text)
		w.Close()
	}()
	return r, nil
}

// sink takes both streams.
type sink struct {
	mu  sync.Mutex
	buf capture
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.write(b)
	return len(b), nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(s.buf.all(), " \t\r\n")
}

// exitStatus is what $? would say.
func exitStatus(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}
