package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestContexts checks that a context's name selects the node, over the wire protocol and by its gateway, from any
// directory, that flags and environment variables override the current context, and that the file contains no token.
func TestContexts(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	p, home := cairntest.StartDev(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "contexts.json")
	cairn := func(want int, says string, env []string, args ...string) {
		t.Helper()
		c := cairntest.Command(t.Context(), args...)
		c.Dir, c.Env = dir, append(append(c.Env, "CAIRN_CONTEXTS="+file), env...)
		out, _ := c.CombinedOutput() // the exit code is checked below
		if code := c.ProcessState.ExitCode(); code != want || !strings.Contains(string(out), says) {
			t.Errorf("cairn %q %q: exit %d, want %d and %q: %s", env, args, code, want, says, out)
		}
	}
	token := filepath.Join(home, "token")
	cairn(cli.ExitUsage, "give --home for a node on this machine, or --endpoints", nil, "context", "add", "half")
	cairn(cli.ExitUsage, "is neither host:port nor http://host:port", nil, "context", "add", "half", "--endpoints", "zzz")
	cairn(cli.ExitFailed, "is a directory", []string{"CAIRN_CONTEXTS=" + dir}, "context", "add", "dev", "--home", home)
	cairn(cli.ExitOK, "", nil, "context", "add", "dev", "--home", home)
	cairn(cli.ExitOK, "", nil, "context", "add", "far", "--endpoints", p.Line.Wire, "--token-file", token, "--db", "none")
	cairn(cli.ExitFailed, "no node found", nil, "stats")
	cairn(cli.ExitOK, "active_memories", nil, "stats", "--context", "dev")
	cairn(cli.ExitOK, "", nil, "remember", "found by name", "--context", "dev")
	cairn(cli.ExitOK, "found by name", []string{"CAIRN_CONTEXT=dev"}, "recall", "name")
	cairn(cli.ExitUsage, `no context "deb"`, nil, "stats", "--context", "deb")
	cairn(cli.ExitUsage, `no context "deb"`, nil, "context", "use", "deb")

	cairn(cli.ExitOK, "", nil, "context", "use", "far")
	cairn(cli.ExitOK, "far *", nil, "context", "list")
	cairn(cli.ExitFailed, "database 'none' not found", nil, "list")
	cairn(cli.ExitOK, "found by name", nil, "list", "--db", "default")
	cairn(cli.ExitOK, "found by name", nil, "recall", "name", "--db", "default")
	cairn(cli.ExitOK, "healthy", nil, "status")
	cairn(cli.ExitFailed, "no node found", nil, "stats", "--home", dir)
	cairn(cli.ExitFailed, "no node found", []string{"CAIRN_HOME=" + dir}, "stats")
	empty := filepath.Join(t.TempDir(), "empty.token")
	if err := os.WriteFile(empty, []byte("nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cairn(cli.ExitOK, "", nil, "context", "add", "other", "--endpoints", "127.0.0.1:1", "--token-file", empty)
	cairn(cli.ExitOK, "found by name", []string{"CAIRN_CONTEXT=other"}, "list", "--home", home)
	cairn(cli.ExitFailed, "invalid or revoked token", []string{"CAIRN_CONTEXT=other"}, "list", "--home", home, "--context", "other")
	cairn(cli.ExitOK, "", nil, "context", "remove", "other")
	cairn(cli.ExitOK, "", nil, "context", "remove", "far")
	cairn(cli.ExitOK, "", nil, "context", "add", "gone", "--endpoints", "127.0.0.1:1", "--token-file", token)
	cairn(cli.ExitOK, "", nil, "context", "use", "gone")
	cairn(cli.ExitFailed, "context gone: ", nil, "stats")
	cairn(cli.ExitFailed, "`cairn context remove gone`", nil, "recall", "name")
	cairn(cli.ExitOK, "", nil, "context", "remove", "gone")
	cairn(cli.ExitFailed, "no node found", nil, "stats")

	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), strings.TrimSpace(string(secret))) {
		t.Error("the file holds a token")
	}
	if i, err := os.Stat(file); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", i.Mode(), err)
	}
}
