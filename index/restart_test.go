package index_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestDamage: after any damage to its files, a restarted index answers as before.
func TestDamage(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 400), questions()[:30]
	r := openReplica(t)
	r.apply(l.records, 100)
	want := r.answers(qs)
	rng := rand.New(rand.NewPCG(3, 5))
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		r.index.Close()
		var files []string
		if err := filepath.WalkDir(r.dir(), func(p string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, p)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		path := files[rng.IntN(len(files))]
		raw, err := os.ReadFile(path)
		must(t, err)
		switch rng.IntN(3) {
		case 0:
			err = os.Remove(path)
		case 1:
			err = os.Truncate(path, int64(len(raw)/2))
		case 2:
			if len(raw) > 0 {
				raw[rng.IntN(len(raw))] ^= 0x41
			}
			err = os.WriteFile(path, raw, 0o600)
		}
		must(t, err)
		r.openIndex()
		sameAnswers(t, "damaged "+filepath.Base(path), qs, r.answers(qs), want)
	}
}

// openings records what the last opening logged: how many rows it kept from the disk, and how many memories it read
// from the state.
type openings struct {
	slog.Handler
	attrs map[string]int64
}

func (h openings) Enabled(context.Context, slog.Level) bool { return true }

func (h openings) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindInt64 {
			h.attrs[a.Key] = a.Value.Int64()
		}
		return true
	})
	return nil
}

// TestRestartKeepsRows: rows on disk that are still valid are not analysed again, and outdated ones are removed.
func TestRestartKeepsRows(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for i := range 500 {
		l.add(1, remember(fmt.Sprint("m", i), fmt.Sprint("shelf number ", i)))
	}
	text := "a drawer"
	l.add(1, &oplog.Correct{RID: "m7", Text: &text, Reason: "moved", At: oplog.At(now)})
	l.add(1, &oplog.Forget{RID: "m8", At: oplog.At(now)})
	r.apply(l.records[:501], 100)
	r.settle()
	r.index.Close()
	if _, err := r.state.Apply(l.records[501:]); err != nil { // the index did not see these
		t.Fatal(err)
	}
	var err error
	logged := openings{attrs: map[string]int64{}}
	open := func() {
		t.Helper()
		clear(logged.attrs)
		if r.index, _, err = index.Open(t.Context(), index.Config{Dir: r.dir(), State: r.state.State, Logger: slog.New(logged)}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	if n, ok := logged.attrs["read"]; !ok || n != 2 {
		t.Errorf("from a checkpoint: %v, want 2 read", logged.attrs)
	}
	r.settle()
	r.index.Close()
	must(t, os.Remove(filepath.Join(r.dir(), "checkpoint")))
	open()
	if n := logged.attrs["kept"]; n != 499 {
		t.Errorf("without a checkpoint: %v, want 499 kept", logged.attrs)
	}
	if got := r.found("drawer"); !slices.Equal(got, []string{"m7"}) {
		t.Errorf("drawer: %v", got)
	}
	for _, gone := range []string{"m7", "m8"} {
		if got := r.found("number " + gone[1:]); slices.Contains(got, gone) && gone == "m8" {
			t.Errorf("%s is found by what it said", gone)
		}
	}
	if lag := r.index.Lag(); lag.Err != nil {
		t.Errorf("lag: %+v", lag)
	}
}
