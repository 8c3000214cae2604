package main

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestDevWithASample checks that a node that is started with a sample has it once it serves, only once over several
// starts, and answers questions about it.
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
			"payments team":              {"edges", "alice"},
			"Erin works at the Oslo":     {"conflicts", "list"},
			"incident-mail":              {"sessions", "list", "--namespace", "lantern"},
			"active_memories        200": {"stats"},
			"Standup: Bob began":         {"sessions", "show", "standup-01"},
		} {
			if out, code := cairntest.Run(t, append(args, "--home", home)...); code != 0 || !strings.Contains(out, want) {
				t.Errorf("cairn %s: exit %d, no %q in %s", strings.Join(args, " "), code, want, out)
			}
		}
		for _, q := range []string{"who leads the mobile team", "who owns the search index"} { // no newer memory answers them
			if out, _ := cairntest.Run(t, "recall", q, "--home", home); strings.Contains(out, "outdated") {
				t.Errorf("%s: what holds is marked as perhaps outdated: %s", q, out)
			}
		}
		for _, name := range topNames(t, home, 10) {
			if !slices.Contains(strings.Split("Alice,Bob,Carol,Dave,Erin,Frank,Grace,app,support,ledger,resize queue,search index",
				","), name) {
				t.Errorf("%s is among the names that most memories have", name)
			}
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// topNames returns the n most mentioned names of a database.
func topNames(t *testing.T, home string, n int) (names []string) {
	t.Helper()
	type entity struct {
		Name     string `json:"name"`
		Mentions int    `json:"mentions"`
	}
	var got struct{ Entities []entity }
	out, _ := cairntest.Run(t, "entities", "--limit", "1000", "--json", "--home", home)
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Entities) < n {
		t.Fatalf("%v in %s", err, out)
	}
	slices.SortFunc(got.Entities, func(a, b entity) int { return cmp.Or(cmp.Compare(b.Mentions, a.Mentions), cmp.Compare(a.Name, b.Name)) })
	for _, e := range got.Entities[:n] {
		names = append(names, e.Name)
	}
	return names
}
