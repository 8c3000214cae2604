package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTheReferenceAlone runs programs whose authors had only the page /docs. They store, find, correct, relate, watch
// and forget memories, twice each.
func TestTheReferenceAlone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	node, home := cairntest.StartDev(t)
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "CAIRN="+node.Line.HTTP, "TOKEN="+strings.TrimSpace(string(token)))
	run := func(t *testing.T, dir, program string, args ...string) string {
		t.Helper()
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: the program is not run", program)
		}
		c := exec.CommandContext(suite.Context(t), program, args...)
		c.Dir, c.Env = dir, environment
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	checkOutput := func(t *testing.T, out string) {
		t.Helper()
		if !strings.Contains(out, "10. forgot") {
			t.Errorf("it did not come to its end:\n%s", out)
		}
	}
	t.Run("Python", func(t *testing.T) {
		for range 2 {
			checkOutput(t, run(t, "testdata/reference", "python3", "agent.py"))
		}
	})
	t.Run("TypeScript", func(t *testing.T) {
		if os.Getenv("CAIRN_NPM") == "" {
			t.Skip("CAIRN_NPM is not set: packages are fetched from npm only where that is wanted")
		}
		dir := t.TempDir()
		source, err := os.ReadFile("testdata/reference/agent.mts")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "agent.mts"), source, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		run(t, dir, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "typescript@5.9.3",
			"@types/node@20.19.25")
		run(t, dir, "node", "node_modules/typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext",
			"--types", "node", "agent.mts")
		for range 2 {
			checkOutput(t, run(t, dir, "node", "agent.mjs"))
		}
	})
}
