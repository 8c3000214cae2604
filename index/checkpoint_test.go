package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// keep copies the files of a closed or idle index, and returns a function that restores them.
func (r *replica) keep(pattern string) (restore func()) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir(), pattern))
	if err != nil || len(found) == 0 {
		r.t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	copies := r.t.TempDir()
	for i, path := range found {
		copyAll(r.t, path, filepath.Join(copies, fmt.Sprint(i)))
	}
	return func() {
		r.t.Helper()
		for i, path := range found {
			must(r.t, os.RemoveAll(path))
			copyAll(r.t, filepath.Join(copies, fmt.Sprint(i)), path)
		}
	}
}

func copyAll(t testing.TB, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		var raw []byte
		if raw, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
	}
	must(t, err)
}

// moment returns the files of a running index as a crash would leave them. It reads all of them twice: if both reads
// are equal, nothing was written in between.
func moment(t *testing.T, dir string) (files map[string][]byte) {
	t.Helper()
	look := func() (map[string][]byte, error) {
		files := map[string][]byte{}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files[path[len(dir):]], err = os.ReadFile(path)
			}
			return err
		})
		return files, err
	}
	suite.Eventually(t, "the files to rest", func() bool {
		first, err := look()
		second, err2 := look()
		if err := errors.Join(err, err2); err != nil && !errors.Is(err, os.ErrNotExist) { // one that was merged away meanwhile
			t.Fatal(err)
		}
		files = first
		return err == nil && err2 == nil && maps.EqualFunc(first, second, bytes.Equal)
	})
	return files
}

// killed returns a function that restores the files as a crash would leave them now.
func (r *replica) killed(t *testing.T) (restore func()) {
	t.Helper()
	files := moment(t, r.dir())
	return func() {
		t.Helper()
		must(t, os.RemoveAll(r.dir()))
		writeTree(t, r.dir(), files)
	}
}

func writeTree(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, raw := range files {
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, raw, 0o600)))
	}
}

// TestCheckpoint: an index whose checkpoint, words or state is behind the others answers like one that was never
// closed.
func TestCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in -short: compares answers, one question after the other")
	}
	t.Parallel()
	l, qs := history(t, 1500), questions()
	first := openReplica(t)
	first.apply(l.records, 50)
	want := first.answers(qs)
	half := len(l.records) / 2
	for _, c := range []struct {
		name string
		old  string // files from an earlier run; empty if only the state is newer
	}{
		{"the state went on", ""}, {"older words", "*/text"}, {"older checkpoint", "checkpoint"}, {"older rows", "*/rows-*"},
		{"older everything", "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := openReplica(t)
			r.apply(l.records[:half], 20)
			r.index.Close()
			if c.old == "" {
				if _, err := r.state.Apply(l.records[half:]); err != nil {
					t.Fatal(err)
				}
			} else {
				restore := r.keep(c.old)
				r.openIndex()
				r.apply(l.records[half:], 20)
				r.index.Close()
				restore()
			}
			for _, when := range []string{"opened", "opened again"} {
				r.openIndex()
				sameAnswers(t, c.name+", "+when, qs, r.answers(qs), want)
				r.index.Close()
			}
		})
	}
}

// TestCheckpointWhileFollowing: after a process ends without warning, its last checkpoint saves the next start most
// of the work.
func TestCheckpointWhileFollowing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	const n = 24_000
	for i := 0; i < n; i += 500 {
		var ops []oplog.Op
		for k := i; k < i+500; k++ {
			m := remember(fmt.Sprintf("m%05d", k),
				fmt.Sprintf("%s %s %d", vocabulary[k%len(vocabulary)], vocabulary[k/7%len(vocabulary)], k))
			m.Session = fmt.Sprint("s", k/100)
			ops = append(ops, m)
		}
		l.add(1, ops...)
	}
	r.apply(l.records, 1)
	path := filepath.Join(r.dir(), "checkpoint")
	suite.Eventually(t, "a checkpoint", func() bool { _, err := os.Stat(path); return err == nil })
	r.settle() // words that the disk does not have are read again, whatever the checkpoint says
	at := len(l.records)
	for k := range 40 {
		text := fmt.Sprintf("castle moved %d", k)
		l.add(1, &oplog.Correct{RID: fmt.Sprintf("m%05d", k*31), Text: &text, Reason: "moved", At: oplog.At(now)})
		l.add(1, &oplog.Forget{RID: fmt.Sprintf("m%05d", 12_000+k*37), At: oplog.At(now)})
	}
	r.apply(l.records[at:], 7)
	qs := questions()[:40]
	want := r.answers(qs)

	crashed := &replica{t: t, home: t.TempDir(), state: r.state}
	writeTree(t, crashed.dir(), moment(t, r.dir()))
	logged := openings{attrs: map[string]int64{}}
	var err error
	if crashed.index, _, err = index.Open(t.Context(),
		index.Config{Dir: crashed.dir(), State: crashed.state.State, Logger: slog.New(logged)}); err != nil {
		t.Fatal(err)
	}
	defer crashed.index.Close()
	sameAnswers(t, "after a crash", qs, crashed.answers(qs), want)
	if n, ok := logged.attrs["read"]; !ok || n > 10_000 {
		t.Errorf("the checkpoint was of no use: %v", logged.attrs)
	}
	if !slices.ContainsFunc(want, func(a []line) bool { return len(a) > 0 }) {
		t.Error("nothing is found")
	}
}

// TestSealedCheckpoint: an index with keys encrypts its checkpoint, also after a key change. Without keys it cannot
// use that checkpoint.
func TestSealedCheckpoint(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	must(t, err)
	l, qs := history(t, 500), questions()[:40]
	r := openReplica(t)
	r.index.Close()
	logged := openings{attrs: map[string]int64{}}
	open := func(keys *seal.Ring) {
		t.Helper()
		clear(logged.attrs)
		var err error
		if r.index, _, err = index.Open(t.Context(),
			index.Config{Dir: r.dir(), State: r.state.State, Keys: keys, Logger: slog.New(logged)}); err != nil {
			t.Fatal(err)
		}
	}
	open(keys)
	r.apply(l.records, 50)
	want := r.answers(qs)
	r.index.Close()
	if err := filepath.WalkDir(r.dir(), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("m00001")) || bytes.Contains(raw, []byte("document")) {
			t.Errorf("%s can be read", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	open(keys)
	if _, ok := logged.attrs["read"]; !ok {
		t.Errorf("its own checkpoint was of no use: %v", logged.attrs)
	}
	sameAnswers(t, "sealed", qs, r.answers(qs), want)
	r.index.Close()

	must(t, keys.Rotate())
	if keys, _, err = seal.Open(home, masters); err != nil {
		t.Fatal(err)
	}
	open(keys)
	if left, err := keys.OutdatedFiles(r.dir()); err != nil || len(left) == 0 {
		t.Errorf("nothing is under the old key: %v", err)
	}
	must(t, errors.Join(r.index.Rewrite(t.Context(), nil), keys.Retire()))
	sameAnswers(t, "rewritten", qs, r.answers(qs), want)
	r.index.Close()
	if keys, _, err = seal.Open(home, masters); err != nil || len(keys.Keys()) != 1 {
		t.Fatal(keys.Keys(), err)
	}
	open(keys)
	if _, ok := logged.attrs["read"]; !ok {
		t.Errorf("the checkpoint was of no use under another key: %v", logged.attrs)
	}
	sameAnswers(t, "under another key", qs, r.answers(qs), want)
	r.index.Close()
	open(nil)
	if _, ok := logged.attrs["read"]; ok {
		t.Error("a sealed checkpoint was read without keys")
	}
	sameAnswers(t, "without keys", qs, r.answers(qs), want)
}
