package child

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// A late reader gets all output that was written in time, even if another process holds the pipe open.
func TestLateReadersLoseNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const size = 50_000 // fits a pipe
	var said bytes.Buffer
	late := func(b []byte) {
		if said.Len() == 0 {
			time.Sleep(3 * linger) // like a reader on a busy machine
		}
		said.Write(b)
	}
	c := exec.Command("/bin/sh", "-c", "printf 'one\n'; sleep 100 & head -c 50000 /dev/zero")
	if err := Run(t.Context(), Program{Cmd: c, Out: late, StopSignal: syscall.SIGHUP}); err != nil {
		t.Error(err)
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // kills the sleep in the background
	if want := "one\n" + string(make([]byte, size)); said.String() != want {
		t.Errorf("%d bytes of %d arrived", said.Len(), len(want))
	}
}

// A program that does not end gets StopSignal, and its output after the signal is read, too.
func TestWhoHangsIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said bytes.Buffer
	c := exec.Command("/bin/sh", "-c", "exec 2>/dev/null; trap 'echo left; exit 0' TERM; echo up; while :; do sleep 0.05; done")
	take := func(b []byte) { said.Write(b); cancel() }
	if err := Run(ctx, Program{Cmd: c, Out: take, StopSignal: syscall.SIGTERM, Grace: suite.Patience}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if said.String() != "up\nleft\n" {
		t.Errorf("it said %q", said.String())
	}
}
