package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestShellRunsAScript checks that the shell runs lines from a pipe until one fails.
func TestShellRunsAScript(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	_, home := cairntest.StartDev(t)
	var env []string
	shell := func(script string) (string, int) {
		t.Helper()
		c := cairntest.Command(t.Context(), "shell", "--home", home)
		c.Env = append(c.Env, env...)
		c.Stdin = strings.NewReader(script)
		out, err := c.CombinedOutput()
		if c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	out, code := shell("remember \"the lamp is lit at dusk\" --namespace light # one\n\n\\x\n\\timing\ncairn list --namespace light\n")
	if code != 0 || !strings.Contains(out, "-- 1\n") || !strings.Contains(out, "NAMESPACE    light\n") || !strings.Contains(out, "ms\n") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := shell("stats\nforgett x\nstats\n"); code != 2 || strings.Count(out, "active_memories") != 1 ||
		!strings.Contains(out, "forget") {
		t.Errorf("a script with a wrong line: exit %d: %s", code, out)
	}
	if out, code := shell("db create beside\n\\c beside\nremember \"another lamp\"\nstats\n\\c\nstats\n\\q\nnothing\n"); code != 0 ||
		strings.Count(out, "active_memories        1") != 2 {
		t.Errorf("two databases: exit %d: %s", code, out)
	}
	if out, code := shell("\\d\n"); code != 2 || !strings.Contains(out, `\? lists the commands`) {
		t.Errorf("exit %d: %s", code, out)
	}
	contexts := filepath.Join(t.TempDir(), "contexts.json")
	if err := os.WriteFile(contexts, []byte(`{"contexts":{"other":{"endpoints":["127.0.0.1:1"],"token_file":"/none"}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	env = []string{"CAIRN_CONTEXTS=" + contexts, "CAIRN_CONTEXT=other"}
	if out, code := shell("stats\nrecall lamp\n"); code != 0 || !strings.Contains(out, "the lamp is lit") {
		t.Errorf("in another context: exit %d: %s", code, out)
	}
	env = nil
	if out, code := shell("shell\n"); code != 2 || !strings.Contains(out, "already a shell") {
		t.Errorf("exit %d: %s", code, out)
	}
}
