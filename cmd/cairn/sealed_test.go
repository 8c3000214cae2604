package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/store/storetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/client"
)

const marker = "zqplant"

// marked counts the different planted texts in the names and contents of files below a directory, including
// compressed tables of a state. It returns one file that contains a text.
func marked(t *testing.T, dir string) (n int, where string) {
	t.Helper()
	seen := map[string]bool{}
	look := func(path string, raw []byte) {
		for at := bytes.Index(raw, []byte(marker)); at >= 0; {
			end := min(len(raw), at+len(marker)+4)
			seen[string(raw[at:end])], where = true, path
			next := bytes.Index(raw[end:], []byte(marker))
			if next < 0 {
				break
			}
			at = end + next
		}
	}
	storetest.Files(t, dir, look)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		look(path, []byte(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(seen), where
}

// addConfig adds lines to section [cluster] of a configuration, and other sections at the end.
func addConfig(t *testing.T, path, cluster, behind string) {
	t.Helper()
	addToSection(t, path, "cluster", cluster)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, behind...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// addToSection adds lines to an existing section of a configuration.
func addToSection(t *testing.T, path, section, lines string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := "[" + section + "]\n"
	if !strings.Contains(string(b), head) {
		t.Fatalf("%s has no section %s", path, section)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), head, head+lines, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeKeys(t *testing.T, path string, keys ...seal.Master) {
	t.Helper()
	var text string
	for _, k := range keys {
		text += k.Text() + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNothingReadableOnAnEncryptedNode encrypts the homes of two of three nodes, each under its own key, and stores a
// thousand texts through every protocol in every role. Nodes are killed, take snapshots, make backups and get new
// keys. No file or backup of the encrypted nodes may contain one of the texts, and those of the plain node must. The
// states must be equal throughout.
func TestNothingReadableOnAnEncryptedNode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "reads files of stopped nodes")
	dir := shortDir(t)
	nodes, token := configureThree(t, dir, func(*config.NodeFile) {})
	homes, keyFiles := make([]string, 3), make([]string, 3)
	keys := []seal.Master{seal.NewMaster(), seal.NewMaster()}
	scheduled := filepath.Join(dir, "scheduled")
	for i, p := range nodes {
		homes[i], keyFiles[i] = filepath.Join(dir, fmt.Sprint("node", i+1)), filepath.Join(dir, fmt.Sprint("key", i+1))
		more := ""
		if i < 2 {
			writeKeys(t, keyFiles[i], keys[i])
			more = fmt.Sprintf("\n[encryption]\nkey_file = %q\n", keyFiles[i])
		}
		if i == 1 {
			more += fmt.Sprintf("\n[backup]\ndir = %q\ninterval_minutes = 1\n", scheduled)
		}
		addConfig(t, p.Args[3], "snapshot_threshold = 50\nsnapshot_interval_ms = 300\ntrailing_logs = 30\n", more)
		addToSection(t, p.Args[3], "local", "string_shell = true\n")
	}
	startAll(t, nodes, 0, 1, 2)

	plant := &planted{}
	plantEverywhere(t, nodes, token, plant)
	sameState(t, nodes)
	backups := filepath.Join(dir, "backups")
	backUp := func() transfer.BackupDone {
		t.Helper()
		done := jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--endpoints", nodes[0].Line.HTTP, "--token", token)
		if done.Path == "" {
			t.Fatal("no backup was made")
		}
		return done
	}
	backUp()
	for i, p := range nodes { // kill -9, one after the other
		p.Kill()
		p.Launch()()
		plantMemories(t, nodes, token, plant, 20)
		if i == 0 {
			backUp()
		}
	}
	sameState(t, nodes)
	checkStartFailures(t, nodes[0], keyFiles[0])
	nodes[0].Launch()()
	first := keys[0]
	rotateUnderLoad(t, nodes, token, plant, keyFiles, keys)
	sameState(t, nodes)
	plantMemories(t, nodes, token, plant, max(0, 1000-plant.n))
	last := backUp()
	rows := exportedBy(t, nodes[0], token)
	both := filepath.Join(dir, "both-keys") // the chain begins under the first master key and ends under the second
	writeKeys(t, both, keys[0], first)
	restoreSealed(t, backups, both, last)

	for i := range keys {
		if !suite.Within(suite.Patience, func() bool { return len(keysOf(t, homes[i], keyFiles[i])) == 1 }) {
			t.Errorf("node %d still needs %v", i+1, keysOf(t, homes[i], keyFiles[i]))
		}
	}
	for i := range nodes {
		if snaps, err := filepath.Glob(filepath.Join(homes[i], "raft", "snapshots", "*.snap")); err != nil || len(snaps) == 0 {
			t.Errorf("node %d took no snapshot, %v", i+1, err)
		}
	}
	for _, p := range nodes { // SIGTERM, so that the files of shells in memory are removed
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	if plant.n < 1000 || len(rows) < 200 {
		t.Fatalf("only %d texts were planted, in %d memories", plant.n, len(rows))
	}
	for _, d := range []string{homes[0], homes[1], backups, scheduled} {
		if n, where := marked(t, d); n > 0 {
			t.Errorf("%d of %d texts are readable below %s, one of them in %s", n, plant.n, d, where)
		}
	}
	if files, err := filepath.Glob(filepath.Join(scheduled, "*.cairn")); err != nil || len(files) == 0 {
		t.Errorf("no scheduled backup, %v", err)
	}
	if n, _ := marked(t, homes[2]); n < 900 {
		t.Errorf("the plain node's home has %d of %d texts: what is looked for is not there at all", n, plant.n)
	}
}

// checkStartFailures starts a stopped node in every way that must fail, and checks that each error says what to do.
func checkStartFailures(t *testing.T, p *cairntest.Node, keyFile string) {
	t.Helper()
	p.Kill()
	good, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(p.Args[3])
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open.toml")
	if err := os.WriteFile(open, []byte(strings.Replace(string(plain), "key_file", "# key_file", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	fail := func(name, config, want string) {
		t.Helper()
		out, err := cairntest.Command(suite.Context(t), "serve", "--config", config).CombinedOutput()
		if code := exitOf(t, err); code != cli.ExitFailed || !strings.Contains(string(out), want) ||
			!strings.Contains(string(out), "hint: ") {
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
	}
	fail("no key", open, "encrypted, and no key is configured")
	writeKeys(t, keyFile, seal.NewMaster())
	fail("another key", p.Args[3], "the encryption key does not match")
	if err := os.WriteFile(keyFile, []byte("no key at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fail("no key in the file", p.Args[3], "is not 32 bytes")
	if err := os.WriteFile(keyFile, good, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rotateUnderLoad changes both master keys by a rolling restart while a client writes, and then removes the old keys.
func rotateUnderLoad(t *testing.T, nodes []*cairntest.Node, token string, plant *planted, keyFiles []string, keys []seal.Master) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	wg.Go(func() {
		cfg := client.Config{Addrs: wireAddrs(nodes), Token: token}
		writeUntil(ctx, t, cfg, &mu, acked, func(int) string { return "while keys change, " + plant.next() })
	})
	waitForWrites(t, &mu, acked, 5)
	for step := range 2 {
		for i, p := range nodes[:2] {
			if step == 0 {
				next := seal.NewMaster()
				writeKeys(t, keyFiles[i], next, keys[i])
				keys[i] = next
			} else {
				writeKeys(t, keyFiles[i], keys[i])
			}
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			p.Launch()()
			logged := func() bool { return strings.Contains(p.Log.String(), "wrapped by a new master key") }
			if step == 0 && !suite.Within(suite.Patience, logged) { // its output arrives through a pipe, with a delay
				t.Errorf("node %d did not say that its keys were wrapped anew", i+1)
			}
			waitForWrites(t, &mu, acked, 5)
			if step == 1 && logged() {
				t.Errorf("node %d wrapped its keys anew without need", i+1)
			}
		}
	}
	stop()
	wg.Wait()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
}

// restoreSealed restores backups that were made under two master keys, and checks that it fails without them.
func restoreSealed(t *testing.T, backups, keyFile string, want transfer.BackupDone) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "restored")
	if _, code := cairntest.Run(t, "restore", "--from", backups, "--home", home); code != cli.ExitFailed {
		t.Errorf("restored without a key: exit %d", code)
	}
	if _, code := cairntest.Run(t, "backup", "verify", backups); code != cli.ExitFailed {
		t.Errorf("verified without a key: exit %d", code)
	}
	got := jsonOf[restored](t, "restore", "--from", backups, "--home", home, "--key-file", keyFile)
	if n, where := marked(t, home); n > 0 {
		t.Errorf("%d texts are readable in the restored home, one in %s", n, where)
	}
	verified := jsonOf[restored](t, "backup", "verify", backups, "--key-file", keyFile)
	if verified != got || got.Hash != want.Hash {
		t.Errorf("restored %+v, verified %+v, backed up %+v", got, verified, want)
	}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}
