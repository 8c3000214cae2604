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

// An injection has the kernel's answers to a running process's system calls replaced by errors, for one of its files:
// a disk that fails, as far as the process can tell. strace does it.
type injection struct {
	t    testing.TB
	cmd  *exec.Cmd
	file string // of the calls that it has seen
	done chan error
}

// inject begins one. A call is a name of strace's: fdatasync, pwrite64.
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
	for range 10 { // a thread that ends just then cannot be traced
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
		if x.begins(said) {
			return x
		}
	}
	t.Skipf("strace may not trace here: %s", said)
	return nil
}

// begins returns when the process is traced, or will not be.
func (x *injection) begins(said *cairntest.LogBuffer) bool {
	x.t.Helper()
	attached := func() bool { return strings.Contains(said.String(), "attached") }
	suite.Eventually(x.t, "strace to begin or to end", func() bool { return attached() || len(x.done) > 0 })
	return attached()
}

// hit returns when calls have failed, so many at least.
func (x *injection) hit(times int) {
	x.t.Helper()
	suite.Eventually(x.t, "something to ask the broken disk", func() bool {
		raw, err := os.ReadFile(x.file)
		if err != nil {
			x.t.Fatal(err)
		}
		return bytes.Count(raw, []byte("(INJECTED)")) >= times
	})
}

// end gives the process its disk back.
func (x *injection) end() {
	_ = x.cmd.Process.Signal(syscall.SIGINT) // it lets go; if the process has ended, so has it
	err := <-x.done
	x.done <- err
}
