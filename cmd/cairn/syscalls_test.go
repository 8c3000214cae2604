package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// An injection uses strace to make system calls of a running process fail, for one of its files, so that the process
// sees a failing disk.
type injection struct {
	t    testing.TB
	cmd  *exec.Cmd
	file string // strace's record of the calls
	done chan error
}

// inject starts an injection. A call is one of strace's names, such as fdatasync or pwrite64.
func inject(t testing.TB, p *cairntest.Node, file, call, errno string) *injection {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.Line.Home, file))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", file, found, err)
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skipf("disks are broken with strace, which is not here: %v", err)
	}
	var said *cairntest.LogBuffer
	for range 10 { // strace fails if a thread ends at that moment
		x := &injection{t: t, file: filepath.Join(t.TempDir(), "calls"), done: make(chan error, 1)}
		x.cmd = exec.Command("strace", "-f", "-o", x.file, "-P", found[len(found)-1], "-e", "trace="+call,
			"-e", "inject="+call+":error="+errno, "-p", strconv.Itoa(p.Cmd.Process.Pid))
		said = &cairntest.LogBuffer{}
		x.cmd.Stderr = said
		if err := x.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { x.done <- x.cmd.Wait() }()
		t.Cleanup(x.end)
		if x.waitAttached(said) {
			return x
		}
	}
	t.Skipf("strace may not trace here: %s", said)
	return nil
}

// waitAttached waits until the process is traced, or tracing has failed.
func (x *injection) waitAttached(said *cairntest.LogBuffer) bool {
	x.t.Helper()
	attached := func() bool { return strings.Contains(said.String(), "attached") }
	suite.Eventually(x.t, "strace to begin or to end", func() bool { return attached() || len(x.done) > 0 })
	return attached()
}

// waitForHits waits until a number of calls have failed.
func (x *injection) waitForHits(times int) {
	x.t.Helper()
	suite.Eventually(x.t, "something to ask the broken disk", func() bool {
		raw, err := os.ReadFile(x.file)
		if err != nil {
			x.t.Fatal(err)
		}
		return bytes.Count(raw, []byte("(INJECTED)")) >= times
	})
}

// end stops the injection.
func (x *injection) end() {
	_ = x.cmd.Process.Signal(syscall.SIGINT) // strace detaches; it has ended if the process has
	err := <-x.done
	x.done <- err
}
