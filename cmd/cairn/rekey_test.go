package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestAHomeIsEncryptedAndItsKeyReplaced encrypts a home with data in place, after which everything must be there and
// readable only with the key. An interrupted change must keep the node from starting until it is completed. Then the
// running node must replace the data key and rewrite all files under the new one.
func TestAHomeIsEncryptedAndItsKeyReplaced(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	home, keyFile := filepath.Join(shortDir(t), "h"), filepath.Join(t.TempDir(), "key")
	p := cairntest.StartDevIn(t, home)
	token := strings.TrimSpace(string(readFile(t, filepath.Join(home, "token"))))
	plant := &planted{}
	plantMemories(t, []*cairntest.Node{p}, token, plant, 30)
	plantLocally(t, p, plant)
	before := exportOf(t, home)
	stop := func() {
		t.Helper()
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	start := func(more ...string) {
		t.Helper()
		p.Args = append(p.Args[:5:5], more...)
		p.Launch()()
	}
	check := func() {
		t.Helper()
		if got := exportOf(t, home); !maps.Equal(got, before) {
			t.Errorf("%d memories, want %d", len(got), len(before))
		}
		if l := listed(t, p); len(l) != 8 {
			t.Errorf("%d events in the inbox, want 8: %q", len(l), l)
		}
		if out, code := cairntest.Run(t, "covenant", "call", "verify_audit_integrity", "--home", home); code != 0 {
			t.Errorf("audit: %s", out)
		}
	}
	check()
	if _, code := cairntest.Run(t, "key", "new", "--output", keyFile); code != 0 {
		t.Fatal("no key")
	}
	if _, code := cairntest.Run(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != cli.ExitFailed {
		t.Error("the home of a running node was encrypted")
	}
	stop() // so that all pending writes are on the disk
	start()
	hash := hashOf(t, p)
	stop()
	if n, _ := marked(t, home); n < 50 {
		t.Fatalf("only %d texts are in the plain home", n)
	}

	// Interrupt the change with an unreadable file, after the state was changed.
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
	if _, code := cairntest.Run(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != cli.ExitFailed {
		t.Error("a change that could not be finished succeeded")
	}
	if out, err := cairntest.Command(t.Context(), append(p.Args, "--key-file", keyFile)...).CombinedOutput(); exitOf(t, err) != cli.ExitFailed ||
		!strings.Contains(string(out), "cut short") {
		t.Errorf("a node started between two states of its files: %s", out)
	}
	if err := os.Remove(audit); err != nil {
		t.Fatal(err)
	}
	rename(audit+".away", audit)
	if out, code := cairntest.Run(t, "key", "encrypt", "--home", home, "--key-file", keyFile); code != 0 {
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

	if _, code := cairntest.Run(t, "key", "rotate", "--home", home, "--key-file", keyFile); code != 0 {
		t.Error("no new data key")
	}
	if keys := keysOf(t, home, keyFile); len(keys) != 2 {
		t.Errorf("keys %+v", keys)
	}
	aside := filepath.Join(home, "raft", "snapshot-2-100-1.corrupt-1") // its keys must be kept
	if err := os.WriteFile(aside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop()
	start("--key-file", keyFile)
	hook(t, p, "under the new key, "+plant.next())
	if !suite.Within(suite.Patience, func() bool {
		out, _ := cairntest.Run(t, "status", "--home", home)
		return strings.Contains(out, "under its new data key: files moved aside left")
	}) {
		out, _ := cairntest.Run(t, "status", "--home", home)
		t.Errorf("status: %s", out)
	}
	checkRotation(t, home, filepath.Base(aside))
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	if !suite.Within(suite.Patience, func() bool { return len(keysOf(t, home, keyFile)) == 1 }) {
		t.Errorf("keys %+v", keysOf(t, home, keyFile))
	}
	if out, _ := cairntest.Run(t, "status", "--home", home); strings.Contains(out, "new data key") ||
		strings.Contains(out, "moved files aside") {
		t.Errorf("status: %s", out)
	}
	if out, code := cairntest.Run(t, "cluster", "keys", "--home", home); code != 0 || strings.Contains(out, "rotating") ||
		strings.Count(out, "encrypted") != 1 || !strings.Contains(out, "active") {
		t.Errorf("keys, exit %d: %s", code, out)
	}
	stop()
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

// checkRotation checks the report of a rotation that has rewritten everything except a file that was moved aside, and
// waits until this file is removed.
func checkRotation(t *testing.T, home, aside string) {
	t.Helper()
	if out, _ := cairntest.Run(t, "status", "--home", home); !strings.Contains(out,
		"node 1  moved files aside that were damaged or differ from a majority's: "+aside+"\n") {
		t.Errorf("status does not name %s: %s", aside, out)
	}
	shown := jsonOf[struct {
		Nodes []struct {
			Rewriting []string
			Keys      []struct {
				ID, Master string
				Active     bool
			}
		}
	}](t, "cluster", "keys", "--home", home)
	if len(shown.Nodes) != 1 || len(shown.Nodes[0].Keys) != 2 || !slices.Equal(shown.Nodes[0].Rewriting, []string{"files moved aside"}) {
		t.Fatalf("keys: %+v", shown)
	}
	out, code := cairntest.Run(t, "cluster", "keys", "--home", home)
	for _, k := range shown.Nodes[0].Keys {
		state := "rotating, left: files moved aside"
		if k.Active {
			state = "active"
		}
		if !regexp.MustCompile(`(?m)^1 +encrypted +`+k.ID+` +0 d +`+k.Master+` +`+state+` *$`).MatchString(out) || code != 0 {
			t.Errorf("it does not say that %s is %s, exit %d: %s", k.ID, state, code, out)
		}
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

// exportOf exports the memories of a home's node, and returns the text of each line by its ids.
func exportOf(t *testing.T, home string) map[string]string {
	t.Helper()
	out, code := cairntest.Run(t, "export", "--home", home)
	if code != 0 {
		t.Fatal("no export")
	}
	rows := map[string]string{}
	for line := range strings.Lines(out) { // recalls update counters in a line
		var row struct{ RID, Text, Src, Dst string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows[row.RID+row.Src+row.Dst] = row.Text
	}
	return rows
}

func hashOf(t *testing.T, p *cairntest.Node) string {
	t.Helper()
	s, ok := statusOf(t, p)
	if !ok {
		t.Fatal("no status")
	}
	return s.Sum
}

// listed returns the events in an agent's inbox.
func listed(t *testing.T, p *cairntest.Node) []string {
	t.Helper()
	got, ok := stringExec(t, p, "/events list --all")
	if !ok {
		t.Fatalf("events: %s", got)
	}
	return strings.Split(got, "evt_")[1:]
}

// A keyInfo is a line of `cairn key list`.
type keyInfo struct {
	ID     string
	Active bool
}

func keysOf(t *testing.T, home, keyFile string) []keyInfo {
	t.Helper()
	return jsonOf[[]keyInfo](t, "key", "list", "--home", home, "--key-file", keyFile)
}

// TestAChangeOfKeysIsKilled kills `cairn key encrypt` of a home with a snapshot at random moments, and checks that
// the same command completes the change.
func TestAChangeOfKeysIsKilled(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "a process that is killed reports no race")
	t.Parallel()
	dir := t.TempDir()
	p, source := cairntest.StartDev(t)
	for i := range 5 {
		if _, code := cairntest.Run(t, "remember", fmt.Sprint("memory ", i), "--home", source); code != 0 {
			t.Fatal("not remembered")
		}
	}
	backups, homeDir, keyFile := filepath.Join(dir, "backups"), filepath.Join(dir, "home"), filepath.Join(dir, "key")
	if _, code := cairntest.Run(t, "backup", "--to", backups, "--home", source); code != 0 {
		t.Fatal("no backup")
	}
	p.Kill()
	if _, code := cairntest.Run(t, "restore", "--from", backups, "--home", homeDir); code != 0 {
		t.Fatal("no home")
	}
	if _, code := cairntest.Run(t, "key", "new", "--output", keyFile); code != 0 {
		t.Fatal("no key")
	}
	quiet := slog.New(slog.DiscardHandler)
	before, err := home.Check(node.Config{Home: homeDir, Logger: quiet}.Files(), true)
	if err != nil || before.Log.Snapshot == 0 {
		t.Fatal(before, err)
	}
	args := func(homeDir string) []string {
		return []string{"key", "encrypt", "--home", homeDir, "--key-file", keyFile}
	}
	var took time.Duration
	for i := range 5 {
		copied := filepath.Join(dir, fmt.Sprint("encrypt", i))
		if err := rafttest.CopyHome(copied, homeDir); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // a complete run, to measure its duration
			start := time.Now()
			if out, code := cairntest.Run(t, args(copied)...); code != 0 {
				t.Fatalf("key encrypt: %s", out)
			}
			took = time.Since(start)
		} else {
			c := cairntest.Command(t.Context(), args(copied)...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			after := time.AfterFunc(took*time.Duration(i)/5, func() { c.Process.Kill() })
			_ = c.Wait() // it may have ended already
			after.Stop()
			if out, code := cairntest.Run(t, args(copied)...); code != 0 {
				t.Fatalf("key encrypt again after a kill: %s", out)
			}
		}
		cfg := node.Config{Home: copied, Logger: quiet, Storage: node.Storage{Encryption: seal.Source{File: keyFile}}}
		if got, err := home.Check(cfg.Files(), true); err != nil || got != before {
			t.Errorf("killed %d: %+v, %v; want %+v", i, got, err, before)
		}
	}
}

// TestARotationIsKilled repeatedly kills a node that rewrites its files under a new data key. After each start it
// must serve all its data, and in the end it must have one key.
func TestARotationIsKilled(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "a process that is killed reports no race")
	t.Parallel()
	home, keyFile := filepath.Join(shortDir(t), "h"), filepath.Join(t.TempDir(), "key")
	if _, code := cairntest.Run(t, "key", "new", "--output", keyFile); code != 0 {
		t.Fatal("no key")
	}
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", home, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6)), "--key-file", keyFile}}
	t.Cleanup(p.Kill)
	p.Launch()()
	token := strings.TrimSpace(string(readFile(t, filepath.Join(home, "token"))))
	plant := &planted{}
	plantMemories(t, []*cairntest.Node{p}, token, plant, 200)
	before := exportOf(t, home)
	for i := range 4 {
		if _, code := cairntest.Run(t, "key", "rotate", "--home", home, "--key-file", keyFile); code != 0 {
			t.Fatal("no new data key")
		}
		p.Kill()
		p.Launch()()
		if got := exportOf(t, home); !maps.Equal(got, before) {
			t.Fatalf("round %d: %d memories, want %d", i, len(got), len(before))
		}
		if i%2 == 0 { // it continues from where it was killed
			plantMemories(t, []*cairntest.Node{p}, token, plant, 1+50*i)
			before = exportOf(t, home)
		}
	}
	if !suite.Within(suite.Patience, func() bool { return len(keysOf(t, home, keyFile)) == 1 }) {
		t.Errorf("keys %+v", keysOf(t, home, keyFile))
	}
	p.Kill()
	p.Launch()()
	if got := exportOf(t, home); !maps.Equal(got, before) {
		t.Errorf("under one key: %d memories, want %d", len(got), len(before))
	}
	p.Kill()
	if n, where := marked(t, home); n > 0 {
		t.Errorf("%d texts are readable, one in %s", n, where)
	}
}
