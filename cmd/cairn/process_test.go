package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestNodeTakesItsProcessesAlong checks that a node's child processes end with it, however it ends.
func TestNodeTakesItsProcessesAlong(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for _, how := range []string{"SIGTERM", "server.shutdown"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			home, err := os.MkdirTemp("", "h") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			p := cairntest.StartDevIn(t, home)
			file := filepath.Join(home, "process.token")
			token, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{file: 0o600, p.Line.Process: os.ModeSocket | 0o600} {
				if i, err := os.Stat(path); err != nil || i.Mode() != mode {
					t.Errorf("%s: %v, %v", path, i.Mode(), err)
				}
			}
			nc, err := net.Dial("unix", p.Line.Process)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			ask := func(method, params string) {
				if _, err := fmt.Fprintf(nc, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s,"auth":%q}`+"\n", method,
					params, strings.TrimSpace(string(token))); err != nil {
					t.Fatal(err)
				}
			}
			ask("process.spawn", `{"id":"p","command":"/bin/sh","args":["-c","trap '' TERM; sleep 1000 & wait"],"wantPid":true}`)
			line, err := bufio.NewReader(nc).ReadBytes('\n')
			var r struct{ Result struct{ Pid int } }
			if uerr := json.Unmarshal(line, &r); err != nil || uerr != nil || r.Result.Pid == 0 {
				t.Fatalf("%s: %v, %v", line, err, uerr)
			}
			if how == "SIGTERM" {
				err = p.Stop()
			} else {
				ask("server.shutdown", "{}")
				err = p.Wait()
				p.Cmd = nil
			}
			if err != nil {
				t.Errorf("%v\n%s", err, p.Log)
			}
			suite.Eventually(t, "the end of the process's group", func() bool { // init must reap the orphans
				return errors.Is(syscall.Kill(-r.Result.Pid, 0), syscall.ESRCH)
			})
			if _, err := os.Lstat(p.Line.Process); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket: %v", err)
			}
		})
	}
}

// TestProcessUnderBothNames checks that the program has two names, and accepts flags with one dash or two under
// either.
func TestProcessUnderBothNames(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const none = "claustrum: one of --version/--install/--serve/--bridge/--stop is required\n"
	for _, c := range []struct {
		name   string
		args   []string
		stdout string // a prefix
		stderr string
		code   int
	}{
		{"cairn", []string{"process", "-version"}, "claustrum ", "", 0},
		{"cairn", []string{"process", "--version"}, "claustrum ", "", 0},
		{"claustrum", []string{"-version"}, "claustrum ", "", 0},
		{"/opt/x/claustrum", []string{"--version"}, "claustrum ", "", 0},
		{"cairn", []string{"process"}, "", none, 2},
		{"claustrum", nil, "", none, 2},
		{"claustrum", []string{"-serve", "-socket", "/no/such"}, "",
			"claustrum: daemonized child requires --token-file or --token-fd\n", 1},
		{"cairn", []string{"process", "-bridge", "-socket", "/no/such"}, "",
			"claustrum: dial server: dial unix /no/such: connect: no such file or directory\n", 1},
		{"cairn", []string{"process", "-stop", "-socket", "/no/such"}, "", "", 0},
		{"claustrum", []string{"-install"}, "__INSTALL_RESULT__{", "", 0},
	} {
		cmd := cairntest.Command(t.Context(), c.args...)
		cmd.Args[0] = c.name
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != c.code || errs.String() != c.stderr || !strings.HasPrefix(out.String(), c.stdout) ||
			(c.stdout == "") != (out.Len() == 0) {
			t.Errorf("%s %q: exit %d, %q, %q", c.name, c.args, code, out.String(), errs.String())
		}
	}
}

// TestAReleaseKnowsItsCommitAsClaustrum checks that claustrum's version has the values that the linker sets in a
// release.
func TestAReleaseKnowsItsCommitAsClaustrum(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cairn")
	set := "-X " + module + "cmd/cairn/cli.commit=0123456789abcdef -X " + module + "cmd/cairn/cli.date=2026-01-31T12:00:00Z"
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", set, "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), path, "process", "-version").Output()
	if want := "claustrum 0123456789abcdef (built 2026-01-31T12:00:00Z)\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}
