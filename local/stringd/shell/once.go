package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/child"
)

// Line is one command that runs in its own shell.
type Line struct {
	Text    string
	Dir     string
	Environ []string
	Timeout time.Duration
}

// Once runs a line with /bin/bash -c, with empty input and one stream for stdout and stderr. When bash ends, Once
// kills the rest of its process group. A program that must live longer needs a Shell.
func Once(ctx context.Context, l Line) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	c := exec.Command("/bin/bash", "-c", l.Text)
	if len(l.Text) > maxArgument {
		script, err := pipe(l.Text)
		if err != nil {
			return Out{}, err
		}
		defer script.Close() // ends the goroutine that writes, too
		c = exec.Command("/bin/bash", "/dev/fd/3")
		c.ExtraFiles = []*os.File{script}
	}
	c.Dir, c.Env = l.Dir, l.Environ
	var output outputBuffer
	err := child.Run(ctx, child.Program{Cmd: c, Out: output.write, StopSignal: syscall.SIGKILL, KillGroup: true})
	out := Out{Text: strings.TrimRight(output.all(), " \t\r\n"), CWD: l.Dir, Status: status(c.ProcessState)}
	out.TimedOut = err != nil && errors.Is(err, ctx.Err())
	if exit := new(exec.ExitError); out.TimedOut || errors.As(err, &exit) {
		err = nil
	}
	return out, err
}

// maxArgument is a length that every system accepts as one argument. A longer line is passed through a pipe.
const maxArgument = 100 << 10

// pipe returns a file from which the text can be read.
func pipe(text string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // ends when all is read or the pipe is closed
		_, _ = w.WriteString(text)
		w.Close()
	}()
	return r, nil
}

// status returns $? of an ended program, or -1 if it was not started.
func status(p *os.ProcessState) int {
	if p == nil {
		return -1
	}
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.ExitCode()
}
