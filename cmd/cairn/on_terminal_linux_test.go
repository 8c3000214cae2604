package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// A terminal is a command on its own terminal, 100 columns wide and 30 lines high.
type terminal struct {
	t      testing.TB
	cmd    *exec.Cmd
	master *os.File

	mu     sync.Mutex
	output strings.Builder
}

// onTerminal starts a command on a terminal, and kills it when the test ends.
func onTerminal(t testing.TB, env []string, args ...string) *terminal {
	t.Helper()
	c := cairntest.Command(t.Context(), args...)
	c.Env = append(c.Env, env...)
	master, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 100})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skipf("no terminal can be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	x := &terminal{t: t, cmd: c, master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			x.mu.Lock()
			x.output.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return x
}

// Type sends the keys of a user.
func (x *terminal) Type(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// Shows waits until the command has written a text since the last call, and returns its output up to then.
func (x *terminal) Shows(text string) (till string) {
	x.t.Helper()
	if !suite.Within(suite.Patience, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		all := x.output.String()
		at := strings.Index(all, text)
		if at < 0 {
			return false
		}
		till = all[:at+len(text)]
		x.output.Reset()
		x.output.WriteString(all[at+len(text):])
		return true
	}) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.t.Fatalf("the terminal does not show %q:\n%s", text, x.output.String())
	}
	return till
}

// Raw reports whether the terminal passes keys to the command one by one.
func (x *terminal) Raw() bool {
	x.t.Helper()
	mode, err := unix.IoctlGetTermios(int(x.master.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return mode.Lflag&unix.ICANON == 0
}

// Ends waits for the command to end.
func (x *terminal) Ends() error {
	x.t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.cmd.Wait() }()
	return suite.Receive(x.t, "the command to end", done)
}
