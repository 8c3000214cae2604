package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestEscapesAreShown stores terminal escape sequences in texts, namespaces, names and labels, and checks that no
// command prints them raw. JSON must contain them unchanged.
func TestEscapesAreShown(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const planted = "\x1b]52;c;ZXZpbA==\x07\u009b31m\r\x7f"
	_, home := cairntest.StartDev(t)
	run := func(args ...string) string {
		t.Helper()
		raw, _ := cairntest.Command(t.Context(), append(args, "--home", home)...).CombinedOutput() // errors quote the rejected value
		out := string(raw)
		if i := strings.IndexAny(out, "\x1b\x07\u009b\r\x7f"); i >= 0 {
			t.Errorf("cairn %q sends %q", args, out[max(0, i-40):])
		}
		return out
	}
	run("remember", "tea "+planted, "--namespace", "n"+planted)
	run("relate", "a"+planted, "b"+planted, "r"+planted)
	run("token", "create", "--label", "l"+planted)
	run("db", "create", "d"+planted)
	run("sessions", "start", "--client-id", "c"+planted)
	shown := run("recall", "tea")
	if !strings.Contains(shown, `\u001b]52;c;`) {
		t.Errorf("recall shows %q", shown)
	}
	for _, args := range [][]string{{"list"}, {"edges", "a" + planted}, {"entities"}, {"namespaces"}, {"token", "list"},
		{"db", "list"}, {"audit"}, {"stats"}, {"status"}, {"sessions", "list"},
		{"recall", "tea", "--explain"}, {"export"}, {"get", planted}, {"no" + planted}} {
		run(args...)
	}
	var found struct {
		Results []struct {
			Text string `json:"text"`
		} `json:"results"`
	}
	if out := run("recall", "tea", "--json"); json.Unmarshal([]byte(out), &found) != nil || len(found.Results) == 0 ||
		found.Results[0].Text != "tea "+planted {
		t.Errorf("recall --json: %q", out)
	}
}
