// Package child runs programs for clients of a dialect and reads what they write: to its last byte when a program
// ends, however late the readers are, and no longer than a bound when another process holds its pipes open. It asks
// no door whether a program may run, and sets no environment: its callers, local/process and local/stringd/shell,
// have done both. It imports nothing of ours.
package child

import (
	"cmp"
	"context"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// A Program is a command that Run sees to its end.
type Program struct {
	Cmd      *exec.Cmd
	Out, Err func([]byte)   // take what it writes and keep nothing of it; without Err, both streams go to Out
	Polite   syscall.Signal // what its group gets when the context ends
	Grace    time.Duration  // 1s: after the polite signal, until SIGKILL
	Whole    bool           // what it leaves behind in its group is killed
}

// linger limits the time that Run waits, after a program's end, for other processes that hold its pipes open.
const linger = 500 * time.Millisecond

// Run runs a command in its own session: it has no terminal to take, to stop for or to ask at. When ctx ends
// first, its group gets a polite signal, so that it removes what it had locked, and after a grace SIGKILL; the error
// is the context's then.
func Run(ctx context.Context, p Program) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := p.Cmd
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr io.Reader
	if p.Err == nil {
		c.Stderr = c.Stdout
	} else if stderr, err = c.StderrPipe(); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	var said Pipes
	said.Read(stdout, p.Out)
	if p.Err != nil {
		said.Read(stderr, p.Err)
	}
	left := make(chan struct{})
	go func() { AwaitExit(c.Process); close(left) }() // a zombie until Wait: the group's number stays its own
	var stopped error
	select {
	case <-left:
	case <-ctx.Done():
		stopped = ctx.Err()
		_ = syscall.Kill(-c.Process.Pid, p.Polite) // a group that is gone needs no signal
		select {
		case <-left:
		case <-time.After(cmp.Or(p.Grace, time.Second)):
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-left
	}
	said.Finish(linger, nil)
	if p.Whole {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	err = c.Wait()
	return cmp.Or(stopped, err)
}
