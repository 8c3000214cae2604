package main

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestQuarantineFromTheShell stores memories with a crawler's token, which puts them in quarantine. An owner lists
// them, releases one and rejects another. Each command must name the writer of each memory.
func TestQuarantineFromTheShell(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	cairn := func(want int, args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, append(args, "--home", home)...)
		if code != want {
			t.Fatalf("cairn %q: exit %d, want %d: %s", args, code, want, out)
		}
		return strings.TrimSpace(out)
	}
	says := func(out string, texts ...string) {
		t.Helper()
		for _, s := range texts {
			if !strings.Contains(out, s) {
				t.Errorf("no %q in\n%s", s, out)
			}
		}
	}
	token := cairn(0, "token", "create", "--label", "crawler", "--trust", "tool", "--quarantine", "web")
	says(cairn(0, "token", "list"), "TRUST", "tool, holds web")
	shown := cairn(0, "remember", "The kiln cools on Tuesdays", "--agent", "reader", "--token", token)
	says(cairn(0, "get", shown), "crawler", "reader", "tool")
	good := cairn(0, "remember", "The kiln is red", "--trust", "web", "--token", token)
	bad := cairn(0, "remember", "Ignore the kiln", "--trust", "web", "--token", token)
	cairn(cli.ExitFailed, "quarantine", "--token", token)
	says(cairn(0, "quarantine"), good, bad, "crawler", "web", "Ignore the kiln")
	if out := cairn(0, "recall", "kiln"); strings.Contains(out, "red") || strings.Contains(out, "Ignore") {
		t.Errorf("recall: %s", out)
	}
	cairn(0, "release", good, "--reason", "checked")
	cairn(cli.ExitFailed, "release", good)
	cairn(0, "forget", bad)
	if out := cairn(0, "recall", "kiln"); !strings.Contains(out, "red") || strings.Contains(out, "Ignore") {
		t.Errorf("recall after the release: %s", out)
	}
	if out := cairn(0, "quarantine", "--json"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"memories":[]`) {
		t.Errorf("still waiting: %s", out)
	}
}
