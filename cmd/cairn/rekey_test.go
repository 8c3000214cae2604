package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// TestAHomeIsEncryptedAndRewritten: a home with a past is encrypted in place, and everything is there and readable by
// nobody else; a change that is cut short keeps the node from starting and is finished later; a new data key, and at last
// all files under it alone.
func TestAHomeIsEncryptedAndRewritten(t *testing.T) {
	t.Parallel()
	home, keyFile := filepath.Join(shortDir(t), "h"), filepath.Join(t.TempDir(), "key")
	p := startDevIn(t, home)
	token := strings.TrimSpace(string(readFile(t, filepath.Join(home, "token"))))
	plant := &planted{}
	plantMemories(t, []*nodeProcess{p}, token, plant, 30)
	plantLocally(t, p, plant)
	before := exportOf(t, home)
	stop := func() {
		t.Helper()
		if _, err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	start := func(more ...string) {
		t.Helper()
		p.args = append(p.args[:5:5], more...)
		p.launch()()
	}
	check := func() {
		t.Helper()
		if got := exportOf(t, home); !maps.Equal(got, before) {
			t.Errorf("%d memories, want %d", len(got), len(before))
		}
		if l := listed(t, p); len(l) != 8 {
			t.Errorf("%d events in the inbox, want 8: %q", len(l), l)
		}
		if out, code := cli(t, "covenant", "audit", "verify", "--home", home); code != 0 {
			t.Errorf("audit: %s", out)
		}
	}
	check()
	if _, code := cli(t, "key", "new", "--output", keyFile); code != 0 {
		t.Fatal("no key")
	}
	if _, code := cli(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != exitFailed {
		t.Error("the home of a running node was encrypted")
	}
	stop() // what waited to be written is, then
	start()
	hash := hashOf(t, p)
	stop()
	if n, _ := marked(t, home); n < 50 {
		t.Fatalf("only %d texts are in the plain home", n)
	}

	// Cut short: a file that cannot be read stands in the way, after the state was changed.
	audit := filepath.Join(home, "run", "covenant", "audit", "events.jsonl")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(audit, audit+".away")
	if err := os.Mkdir(audit, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, code := cli(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != exitFailed {
		t.Error("a change that could not be finished succeeded")
	}
	if out, err := command(t.Context(), append(p.args, "--key-file", keyFile)...).CombinedOutput(); exitOf(t, err) != exitFailed || !strings.Contains(string(out), "cut short") {
		t.Errorf("a node started between two states of its files: %s", out)
	}
	if err := os.Remove(audit); err != nil {
		t.Fatal(err)
	}
	rename(audit+".away", audit)
	if out, code := cli(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != 0 {
		t.Fatalf("not finished: %s", out)
	}
	if n, where := marked(t, home); n != 0 {
		t.Errorf("%d texts are readable, one in %s", n, where)
	}
	start("--key-file", keyFile)
	if got := hashOf(t, p); got != hash {
		t.Errorf("hash %s, was %s", got, hash)
	}
	check()

	if _, code := cli(t, "key", "rotate", "--home", home, "--key-file", keyFile); code != 0 {
		t.Error("no new data key")
	}
	stop()
	start("--key-file", keyFile)
	hook(t, p, "under the new key, "+plant.next())
	stop()
	type info struct {
		ID     string
		Active bool
	}
	if keys := jsonOf[[]info](t, "key", "list", "--home", home, "--key-file", keyFile); len(keys) != 2 {
		t.Errorf("keys %+v", keys)
	}
	if _, code := cli(t, "key", "rewrite", "--home", home, "--key-file", keyFile); code != 0 {
		t.Error("not rewritten")
	}
	if keys := jsonOf[[]info](t, "key", "list", "--home", home, "--key-file", keyFile); len(keys) != 1 || !keys[0].Active {
		t.Errorf("keys %+v", keys)
	}
	if _, err := os.Stat(filepath.Join(home, seal.RingFile)); err != nil {
		t.Error(err)
	}
	start("--key-file", keyFile)
	if l := listed(t, p); len(l) != 9 {
		t.Errorf("%d events in the inbox, want 9: %q", len(l), l)
	}
	if got := exportOf(t, home); !maps.Equal(got, before) {
		t.Errorf("%d memories, want %d", len(got), len(before))
	}
	stop()
	if n, where := marked(t, home); n != 0 {
		t.Errorf("%d texts are readable, one in %s", n, where)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exportOf is what the node of a home holds, as the lines of an export.
func exportOf(t *testing.T, home string) map[string]string {
	t.Helper()
	out, code := cli(t, "export", "--home", home)
	if code != 0 {
		t.Fatal("no export")
	}
	rows := map[string]string{}
	for line := range strings.Lines(out) {
		rows[line] = ""
	}
	return rows
}

func hashOf(t *testing.T, p *nodeProcess) string {
	t.Helper()
	s, ok := statusOf(t, p)
	if !ok {
		t.Fatal("no status")
	}
	return s.Sum
}

// listed are the events in an agent's inbox.
func listed(t *testing.T, p *nodeProcess) []string {
	t.Helper()
	got, ok := stringExec(t, p, "/events list --all")
	if !ok {
		t.Fatalf("events: %s", got)
	}
	return strings.Split(got, "evt_")[1:]
}
