// Package child runs programs for clients of a dialect and reads their output. No byte that a program wrote before
// its end is lost, however late the readers run. If another process holds the pipes open, the wait is bounded. The
// callers, local/process and local/stringd/shell, set the environment and ask the door whether the program may run.
package child

import (
	"cmp"
	"context"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// A Program is a command for Run.
type Program struct {
	Cmd        *exec.Cmd
	Out, Err   func([]byte)   // receive the output and must not keep the slice; if Err is nil, both streams go to Out
	StopSignal syscall.Signal // sent to the process group when the context ends
	Grace      time.Duration  // time between StopSignal and SIGKILL; 0: 1s
	KillGroup  bool           // when the program has ended, kill the rest of its process group
}

// linger limits the time that Run waits, after a program's end, for other processes that hold its pipes open.
const linger = 500 * time.Millisecond

// Run runs a command in its own session, so that it has no controlling terminal. If ctx ends first, the process group
// gets StopSignal, so that it can remove its lock files, and SIGKILL after Grace. Run then returns the error of ctx.
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
	var pipes Pipes
	pipes.Read(stdout, p.Out)
	if p.Err != nil {
		pipes.Read(stderr, p.Err)
	}
	exited := make(chan struct{})
	go func() { AwaitExit(c.Process); close(exited) }() // it stays a zombie until Wait, so the number of its group is not reused
	var stopped error
	select {
	case <-exited:
	case <-ctx.Done():
		stopped = ctx.Err()
		_ = syscall.Kill(-c.Process.Pid, p.StopSignal) // fails only if the group is gone
		select {
		case <-exited:
		case <-time.After(cmp.Or(p.Grace, time.Second)):
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-exited
	}
	pipes.Finish(linger, nil)
	if p.KillGroup {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	err = c.Wait()
	return cmp.Or(stopped, err)
}
