package index_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// take applies records to the state only, and returns the outcomes for the index.
func (r *replica) take(records []oplog.Record) []oplog.Outcome {
	r.t.Helper()
	out, err := r.state.Apply(records)
	must(r.t, err)
	return out
}

func (r *replica) finds(db oplog.DB, word, rid string) bool {
	r.t.Helper()
	hits, _, err := r.index.Search(r.t.Context(), db, index.Query{Text: word, K: 10, Now: now})
	must(r.t, err)
	return slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Memory.RID == rid && slices.Contains(h.Why, "keyword_match") })
}

// TestCancelledFollow: entries that a cancelled Follow has not reached are found after the next Open, and no later
// Follow hides them.
func TestCancelledFollow(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("early", "garden"))
	l.add(1, remember("late", "kestrel"))
	l.add(1, remember("later", "plover"))
	out := r.take(l.records)
	cut := len(out) - 2
	must(t, r.index.Follow(t.Context(), out[:cut]))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.index.Follow(cancelled, out[cut:cut+1]); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled step: got %v", err)
	}
	if err := r.index.Follow(t.Context(), out[cut+1:]); !errors.Is(err, index.ErrPartial) {
		t.Errorf("the step after a cancelled one: got %v, want %v", err, index.ErrPartial)
	}
	r.reopen()
	for word, rid := range map[string]string{"kestrel": "late", "plover": "later"} {
		if !r.finds(1, word, rid) {
			t.Errorf("%s is in the state and is not found after opening", rid)
		}
	}
}

// TestFailedFollow: a Follow that fails at one of two databases is like a cancelled one, and a rebuild closes the gap
// at once.
func TestFailedFollow(t *testing.T) {
	t.Parallel()
	for name, mend := range map[string]func(*replica){
		"opened again": (*replica).reopen,
		"rebuilt": func(r *replica) {
			if _, err := r.index.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, l := openReplica(t), newLog(t)
			l.add(1, remember("early", "kestrel"))
			r.apply(l.records, 1)
			l.add(0, &oplog.CreateDB{Name: "second", At: oplog.At(now)})
			l.add(2, remember("other", "plover"))
			l.add(1, remember("late", "heron"))
			inTheWay := r.block("2-1")
			if err := r.index.Follow(t.Context(), r.take(l.records[2:])); err == nil {
				t.Fatal("a database without a directory was followed")
			}
			inTheWay()
			mend(r)
			if !r.finds(1, "kestrel", "early") || !r.finds(1, "heron", "late") || !r.finds(2, "plover", "other") {
				t.Error("a memory is in the state and is not found")
			}
		})
	}
}

// block creates a file in place of a directory of the index, and returns a function that removes it.
func (r *replica) block(dir string) (clear func()) {
	r.t.Helper()
	path := filepath.Join(r.dir(), dir)
	must(r.t, os.WriteFile(path, nil, 0o600))
	return func() {
		r.t.Helper()
		must(r.t, os.Remove(path))
	}
}

// TestFailedBuild: a rebuild that fails after a snapshot leaves nothing behind that a later Open takes for the new
// state.
func TestFailedBuild(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.add(0, &oplog.CreateDB{Name: "second", At: oplog.At(now)})
	l.add(1, remember("a", "kestrel"))
	l.add(2, remember("b", "plover"))
	before := len(l.records)
	for db, rid := range map[oplog.DB]string{1: "a", 2: "b"} {
		words := "heron"
		l.add(db, &oplog.Correct{RID: rid, Text: &words, Reason: "moved", At: oplog.At(now)})
	}
	ahead, r := openReplica(t), openReplica(t)
	ahead.apply(l.records, 1)
	r.apply(l.records[:before], 1)
	r.reopen() // there is a checkpoint of the old rows
	var raw bytes.Buffer
	must(t, ahead.state.Read(func(v *state.View) error { return v.WriteSnapshot(&raw) }))
	if taken, err := r.state.CatchUp(&raw, nil); err != nil || !taken {
		t.Fatalf("the snapshot: taken %t, %v", taken, err)
	}
	inTheWay := r.block("2-3") // the third generation: two opens came before
	if _, err := r.index.Rebuild(t.Context()); err == nil {
		t.Fatal("a database without a directory was built")
	}
	inTheWay()
	r.reopen()
	for db, rid := range map[oplog.DB]string{1: "a", 2: "b"} {
		if !r.finds(db, "heron", rid) {
			t.Errorf("database %d: the restored text is not found", db)
		}
		if r.finds(db, "kestrel", rid) || r.finds(db, "plover", rid) {
			t.Errorf("database %d: a text from before the restore is found", db)
		}
	}
}
