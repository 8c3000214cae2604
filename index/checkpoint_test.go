package index_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// keep copies files of an index that is closed, or at rest, and returns what puts them back.
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
			if err := os.RemoveAll(path); err != nil {
				r.t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckpoint: whichever of the checkpoint, the words and the state is behind the others, the answers are those of an index
// that was never closed.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 1500), questions()
	first := openReplica(t)
	first.apply(l.records, 50)
	want := first.answers(qs)
	half := len(l.records) / 2
	for _, c := range []struct {
		name string
		old  string // what is from an earlier run; nothing: the state alone went on
	}{
		{"the state went on", ""}, {"older words", "*/text"}, {"older checkpoint", "checkpoint"}, {"older rows", "*/rows-*"}, {"older everything", "*"},
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

// TestCheckpointWhileFollowing: a process that ends without warning leaves a checkpoint behind that saves most of the work.
func TestCheckpointWhileFollowing(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	const n = 24_000
	for i := 0; i < n; i += 500 {
		var ops []oplog.Op
		for k := i; k < i+500; k++ {
			m := remember(fmt.Sprintf("m%05d", k), fmt.Sprintf("%s %s %d", vocabulary[k%len(vocabulary)], vocabulary[k/7%len(vocabulary)], k))
			m.Session = fmt.Sprint("s", k/100)
			ops = append(ops, m)
		}
		l.add(1, ops...)
	}
	r.apply(l.records, 1)
	path := filepath.Join(r.dir(), "checkpoint")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no checkpoint")
		}
	}
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
	if err := os.CopyFS(crashed.dir(), os.DirFS(r.dir())); err != nil { // as a crash would leave it, or worse
		t.Fatal(err)
	}
	said := openings{attrs: map[string]int64{}}
	var err error
	if crashed.index, _, err = index.Open(t.Context(), index.Config{Dir: crashed.dir(), State: crashed.state, Logger: slog.New(said)}); err != nil {
		t.Fatal(err)
	}
	defer crashed.index.Close()
	sameAnswers(t, "after a crash", qs, crashed.answers(qs), want)
	if n, ok := said.attrs["read"]; !ok || n > 10_000 {
		t.Errorf("the checkpoint was of no use: %v", said.attrs)
	}
	if !slices.ContainsFunc(want, func(a []line) bool { return len(a) > 0 }) {
		t.Error("nothing is found")
	}
}
