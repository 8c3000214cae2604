package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestDevWithASample: a node that is started with a sample has it when it serves, once however often it is started, and
// answers questions about it.
func TestDevWithASample(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	home := filepath.Join(shortDir(t), "h")
	for range 2 {
		p := cairntest.StartDevIn(t, home, "--sample")
		for want, args := range map[string][]string{
			"because two schedulers both thought they were the leader": {"recall", "why were customers billed twice?"},
			"ten gigabytes":              {"recall", "how much does the free plan hold?"},
			"payments team":              {"edges", "Alice"},
			"contradict via works at":    {"conflicts", "list"},
			"incident-mail":              {"sessions", "list", "--namespace", "lantern"},
			"active_memories        200": {"stats"},
			"Standup: Bob began":         {"sessions", "show", "standup-01"},
		} {
			if out, code := cairntest.Run(t, append(args, "--home", home)...); code != 0 || !strings.Contains(out, want) {
				t.Errorf("cairn %s: exit %d, no %q in %s", strings.Join(args, " "), code, want, out)
			}
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}
