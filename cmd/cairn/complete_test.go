package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestCompletion checks that flags and arguments are completed with names from the node.
func TestCompletion(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("CAIRN_HOME", home)
	t.Setenv("CAIRN_CONTEXTS", filepath.Join(home, "contexts.json"))
	cairntest.StartDevIn(t, home)
	for _, args := range [][]string{{"db", "create", "work"}, {"remember", "Alice leads payments", "--namespace", "team"},
		{"relate", "Alice", "leads", "payments"}} {
		if code, _, stderr := cairn(t, args...); code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	_, rids, _ := cairn(t, "list", "--json")
	for _, c := range []struct {
		line, offered string
		files         bool
	}{
		{"db drop ", "work", false},
		{"db quota w", "work", false},
		{"embed use d", "default", false},
		{"embed fetch all", "all-MiniLM-L6-v2", false},
		{"import --db w", "work", false},
		{"import a.md ", "-", true},
		{"merge ", "", false},
		{"merge a ", "", false},
		{"edges A", "Alice", false},
		{"relate Ali", "Alice", false},
		{"recall x --namespace t", "team", false},
		{"cluster remove --node-id ", "1", false},
		{"get ", "", false},
		{"db create w", "-", false},
		{"edges Alice ", "-", false},
		{"backup verify ", "-", true},
	} {
		_, out, _ := cairn(t, append([]string{"__complete"}, strings.Split(c.line, " ")...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		names, directive := lines[:len(lines)-1], lines[len(lines)-1]
		switch {
		case c.offered == "" && (len(names) != 1 || !strings.Contains(rids, names[0])), c.offered == "-" && len(names) > 0,
			c.offered != "" && c.offered != "-" &&
				!slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, c.offered) }):
			t.Errorf("%q offers %q", c.line, names)
		}
		if files := directive == ":0"; files != c.files {
			t.Errorf("%q offers files: %t", c.line, files)
		}
	}
}
