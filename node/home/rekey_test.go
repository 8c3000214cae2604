package home

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// readable returns the files of a directory that contain the planted text.
func readable(t *testing.T, dir string) (paths []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(planted)) {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// TestAChangeOfKeysGoesOnFromEveryStep encrypts a home with a snapshot and a log in processes that end before,
// between and within the moves of the new files. No node starts in between; the same command finishes the change,
// nothing is lost, and no text is readable.
func TestAChangeOfKeysGoesOnFromEveryStep(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	last := proposeGood(t, cfg)
	if all := readable(t, cfg.Dir); len(all) < 2 {
		t.Fatalf("readable before: %v", all)
	}
	before, err := Check(cfg, true)
	must(t, err)
	cfg.Encryption = masterKey(t)
	masters, err := cfg.Encryption.Masters(t.Context())
	must(t, err)
	must(t, convert(cfg, filepath.Join(cfg.Dir, rekeyDir), masters))
	steps := []func(dir string) error{func(string) error { return nil }}
	for _, name := range []string{seal.RingFile, StateDir, filepath.Join("raft", "log"), filepath.Join("raft", "snapshots")} {
		steps = append(steps, func(dir string) error { return os.RemoveAll(filepath.Join(dir, name)) },
			func(dir string) error { return os.Rename(filepath.Join(dir, rekeyDir, name), filepath.Join(dir, name)) })
	}
	for done := range steps {
		cut := cfg
		cut.Dir = filepath.Join(t.TempDir(), "home")
		must(t, rafttest.CopyHome(cut.Dir, cfg.Dir))
		for _, step := range steps[:done+1] {
			must(t, step(cut.Dir))
		}
		if _, err := OpenKeys(t.Context(), cut); !errors.Is(err, errRekey) {
			t.Errorf("step %d: a node starts between two states of its files: %v", done, err)
		}
		must(t, Encrypt(t.Context(), cut))
		if after, err := Check(cut, true); err != nil || after != before {
			t.Errorf("step %d: %+v became %+v, %v", done, before, after, err)
		}
		if _, err := FindUnapplied(cut, last); !errors.Is(err, ErrApplies) {
			t.Errorf("step %d: the last record of the log: %v", done, err)
		}
		if all := readable(t, cut.Dir); len(all) > 0 {
			t.Errorf("step %d: readable after: %v", done, all)
		}
	}
}

// TestAConversionCutShortBeginsAnew checks that an incomplete conversion starts again from the beginning, and that a
// node can start in between.
func TestAConversionCutShortBeginsAnew(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	for _, of := range []string{StateDir, "raft/log", "raft/snapshots"} {
		dir := filepath.Join(cfg.Dir, rekeyDir, of)
		must(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "half"), []byte(planted), 0o600)))
	}
	before, err := Check(cfg, true)
	must(t, err)
	cfg.Encryption = masterKey(t)
	must(t, Encrypt(t.Context(), cfg))
	if after, err := Check(cfg, true); err != nil || after != before {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, rekeyDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left its directory: %v", err)
	}
	if all := readable(t, cfg.Dir); len(all) > 0 {
		t.Errorf("readable after: %v", all)
	}
}

// TestKeptFilesAreSealedAnew reseals files of other surfaces, as a whole or line by line, plain or sealed before. An
// incomplete last line is dropped, and a missing file is not created.
func TestKeptFilesAreSealedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	lines := `{"a":1}` + "\n" + string(keys.Line([]byte(`{"b":2}`), "inbox")) + "\n" + `{"torn":`
	whole, inbox, none := filepath.Join(dir, "whole"), filepath.Join(dir, "inbox"), filepath.Join(dir, "none")
	must(t, errors.Join(os.WriteFile(whole, []byte("a plain text"), 0o640), os.WriteFile(inbox, []byte(lines), 0o600)))
	cfg := Config{Kept: func(*seal.Ring) ([]Kept, error) {
		return []Kept{{Path: whole}, {Path: inbox, Place: "inbox"}, {Path: none}}, nil
	}}
	for range 2 { // sealed files are sealed again
		must(t, RewriteKept(cfg, keys))
		raw, err := os.ReadFile(whole)
		must(t, err)
		if plain, err := keys.Plain(raw); !seal.IsSealed(raw) || err != nil || string(plain) != "a plain text" {
			t.Errorf("%q, %v", plain, err)
		}
		raw, err = os.ReadFile(inbox)
		must(t, err)
		var got []string
		for line := range bytes.Lines(raw) {
			plain, err := keys.OpenLine(bytes.TrimSuffix(line, []byte("\n")), "inbox")
			must(t, err)
			got = append(got, string(plain))
		}
		if len(got) != 2 || got[0] != `{"a":1}` || got[1] != `{"b":2}` {
			t.Errorf("lines %q", got)
		}
	}
	if info, err := os.Stat(whole); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was not there: %v", err)
	}
}
