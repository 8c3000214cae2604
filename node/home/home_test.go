package home

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

const planted = "lighthouse number" // part of every memory of a filled home

// fill gives a home the files of a stopped node: a state with some memories, and a log that begins where the state
// ends.
func fill(t *testing.T, cfg Config) Config {
	t.Helper()
	keys, err := OpenKeys(t.Context(), cfg)
	must(t, err)
	st, err := state.Open(filepath.Join(cfg.Dir, StateDir), state.Options{Keys: keys})
	must(t, err)
	var records []oplog.Record
	add := func(e oplog.Entry) {
		body, err := e.Encode()
		must(t, err)
		n := uint64(len(records) + 1)
		records = append(records, oplog.Record{Index: oplog.Index(n), Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(n, 0, 1), body)})
	}
	add(oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}})
	for i := range 400 {
		text := fmt.Sprintf("%s %x", planted, sha256.Sum256([]byte{byte(i), byte(i >> 8)})) // texts that do not compress well
		add(oplog.Entry{Node: 1, DB: oplog.DefaultDB,
			Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: fmt.Sprint("m", i), Text: text,
				Namespace: "default", Created: 1}}}})
	}
	_, err = st.Apply(records)
	must(t, errors.Join(err, st.Close()))
	_, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error { return raft.FoundAlone(rc, sm) })
	must(t, err)
	return cfg
}

// soleNodeConfig returns the configuration of a node without peers.
func soleNodeConfig(t *testing.T) Config {
	dir := filepath.Join(t.TempDir(), "h")
	must(t, private.MakeDir(dir))
	return Config{Dir: dir, Logger: slog.New(slog.DiscardHandler), NodeID: 1}
}

// masterKey creates a file with a new master key.
func masterKey(t *testing.T) seal.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master")
	must(t, os.WriteFile(path, []byte(seal.NewMaster().Text()+"\n"), 0o600))
	return seal.Source{File: path}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the checksums of all files in a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(raw))
		return err
	}))
	return all.String()
}

// TestCommandsLeaveTheHomeOfARunningNodeAlone checks that each command reports that a process has the state open, and
// changes no file.
func TestCommandsLeaveTheHomeOfARunningNodeAlone(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	lock, err := os.OpenFile(filepath.Join(cfg.Dir, StateDir, "LOCK"), os.O_RDWR, 0) // like a running node
	must(t, err)
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if !Locked(cfg.Dir) {
		t.Error("a home whose state is open counts as free")
	}
	before := contents(t, cfg.Dir)
	sealed := cfg
	sealed.Encryption = masterKey(t)
	var all sync.WaitGroup // concurrent, because each waits a while for a stopping node
	for name, f := range map[string]func() error{
		"check":       func() error { _, err := Check(cfg, false); return err },
		"members":     func() error { _, _, err := Members(cfg); return err },
		"recover":     func() error { _, err := Recover(cfg); return err },
		"accept loss": func() error { _, err := AcceptLoss(cfg); return err },
		"find":        func() error { _, err := FindUnapplied(cfg, 500); return err },
		"skip":        func() error { return SkipRecord(cfg, Unapplied{Index: 500, Fault: errors.New("a fault")}) },
		"encrypt":     func() error { return Encrypt(t.Context(), sealed) },
	} {
		all.Go(func() {
			if err := f(); !errors.Is(err, state.ErrLocked) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	must(t, os.RemoveAll(filepath.Join(cfg.Dir, rekeyDir))) // an incomplete rekey has touched no other file
	if after := contents(t, cfg.Dir); after != before {
		t.Errorf("files were changed: %s\nbecame %s", before, after)
	}
	must(t, lock.Close())
	if Locked(cfg.Dir) {
		t.Error("a home whose state is closed counts as held")
	}
	if _, err := Check(cfg, true); err != nil {
		t.Error(err)
	}
}

// TestNoCommandMakesAHome: a command for a stopped node rejects a directory that is no home, and creates none there,
// because a restore rejects a directory with a log.
func TestNoCommandMakesAHome(t *testing.T) {
	t.Parallel()
	cfg := soleNodeConfig(t)
	cfg.Dir = filepath.Join(cfg.Dir, "elsewhere")
	for name, f := range map[string]func() error{
		"check":       func() error { _, err := Check(cfg, false); return err },
		"members":     func() error { _, _, err := Members(cfg); return err },
		"recover":     func() error { _, err := Recover(cfg); return err },
		"accept loss": func() error { _, err := AcceptLoss(cfg); return err },
		"find":        func() error { _, err := FindUnapplied(cfg, 500); return err },
		"skip":        func() error { return SkipRecord(cfg, Unapplied{Index: 500, Fault: errors.New("a fault")}) },
	} {
		if err := f(); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", cfg.Dir, err)
	}
}

// TestAHomeAndItsKeysFit checks that a node opens a home only with its key, and changes nothing in any other home.
func TestAHomeAndItsKeysFit(t *testing.T) {
	t.Parallel()
	plain, sealed := fill(t, soleNodeConfig(t)), soleNodeConfig(t)
	sealed.Encryption = masterKey(t)
	fill(t, sealed)
	bare := fill(t, func() Config { c := soleNodeConfig(t); c.Encryption = sealed.Encryption; return c }())
	must(t, os.Remove(filepath.Join(bare.Dir, "keyring")))
	if err := Encrypt(t.Context(), bare); !errors.Is(err, seal.ErrKeyring) {
		t.Errorf("an encrypted home that lost its keyring is to be encrypted: %v", err)
	}
	for _, c := range []struct {
		name string
		home Config
		with seal.Source
		want error
	}{
		{"a plain home with a key", plain, masterKey(t), seal.ErrPlain},
		{"an encrypted home without one", sealed, seal.Source{}, seal.ErrSealed},
		{"an encrypted home with another", sealed, masterKey(t), seal.ErrKey},
		{"an encrypted home that lost its keyring", bare, bare.Encryption, seal.ErrKeyring},
		{"an encrypted home that lost its keyring, without a key", bare, seal.Source{}, seal.ErrKeyring},
		{"a plain home", plain, seal.Source{}, nil},
		{"an encrypted home", sealed, sealed.Encryption, nil},
	} {
		before := contents(t, c.home.Dir)
		cfg := c.home
		cfg.Encryption = c.with
		keys, err := OpenKeys(t.Context(), cfg)
		if !errors.Is(err, c.want) || (keys != nil) != (c.want == nil && c.with.Enabled()) {
			t.Errorf("%s: %v, %v", c.name, keys, err)
		}
		if contents(t, c.home.Dir) != before {
			t.Errorf("%s: files were changed", c.name)
		}
	}
}

// TestSecretsAreMadeOnce checks that the first start creates the secret and the key of a home, readable only by its
// user, and that later starts use the same.
func TestSecretsAreMadeOnce(t *testing.T) {
	t.Parallel()
	cfg := soleNodeConfig(t)
	secret, err := OpenSecret(cfg)
	if err != nil || len(secret) < MinSecret {
		t.Fatalf("%d characters, %v", len(secret), err)
	}
	key, err := OpenIdentity(cfg.Dir)
	must(t, err)
	if again, err := OpenSecret(cfg); err != nil || again != secret {
		t.Errorf("another secret, %v", err)
	}
	if again, err := OpenIdentity(cfg.Dir); err != nil || !again.Equal(key) {
		t.Errorf("another key, %v", err)
	}
	for _, name := range []string{SecretFile, IdentityFile} {
		path := filepath.Join(cfg.Dir, name)
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		must(t, os.WriteFile(path, []byte("short\n"), 0o600))
	}
	if _, err := OpenSecret(cfg); err == nil || !strings.Contains(err.Error(), SecretFile) {
		t.Errorf("a short secret: %v", err)
	}
	if _, err := OpenIdentity(cfg.Dir); err == nil || !strings.Contains(err.Error(), IdentityFile) {
		t.Errorf("a damaged key: %v", err)
	}
	joining := soleNodeConfig(t)
	joining.Peers = true
	if _, err := OpenSecret(joining); err == nil {
		t.Error("a node with peers made a secret that they do not know")
	}
	joining.Secret = secret
	if got, err := OpenSecret(joining); err != nil || got != secret {
		t.Errorf("the configured secret: %v", err)
	}
}

// TestRestoreNeedsAnEmptyHome checks that a restore changes nothing in a home with a log.
func TestRestoreNeedsAnEmptyHome(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	before := contents(t, cfg.Dir)
	if _, err := Restore(t.Context(), cfg, t.TempDir(), archive.Target{}); err == nil || !strings.Contains(err.Error(), "empty home") {
		t.Errorf("got %v", err)
	}
	if contents(t, cfg.Dir) != before {
		t.Error("files were changed")
	}
}
