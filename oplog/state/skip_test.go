package state

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestSkippedRecord: a record that cannot be applied because of a bug stops a state, with an error that names it.
// States whose operators skip it continue identically, with the skip in their audit. A state without the skip
// differs.
func TestSkippedRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	relate := func() oplog.Op {
		return &oplog.Relate{ID: oplog.NewID(), Src: "a", Dst: "b", Type: "t", At: 1}
	}
	good := []oplog.Record{record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}),
		record(2, []oplog.Entry{{DB: 1, Ops: []oplog.Op{relate()}}})}
	poison := record(3, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "m", Text: "t"}}}}, {DB: 1,
		Ops: []oplog.Op{relate()}}})
	unreadable := oplog.Record{Index: 4, Term: 1, Data: []byte("not what any version wrote, and long enough to have a time")}
	after := record(5, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "n", Text: "t"}}}}})
	faulty := func(name string) *State { // a state in which a relation has no body, so that applying to it panics
		s := mustOpen(t, filepath.Join(dir, name))
		mustApply(t, s, good...)
		b := s.live.Batch()
		defer b.Close()
		txn := newTxn(b)
		txn.b = b
		id, _ := first(txn.scan(tEdge, 1, nil))
		txn.unset(tEdge, 1, id)
		must(t, b.Commit())
		return s
	}
	s := faulty("a")
	_, err := s.Apply([]oplog.Record{poison})
	if !errors.Is(err, ErrUnapplied) || !strings.Contains(err.Error(), "record 3 entry 1") {
		t.Fatalf("the fault is told as %v", err)
	}
	if err := s.Try([]oplog.Record{poison}); !errors.Is(err, ErrUnapplied) {
		t.Errorf("tried: %v", err)
	}
	if err := s.Try([]oplog.Record{record(3, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "m",
		Text: "t"}}}}})}); err != nil {
		t.Errorf("a good one, tried: %v", err)
	}
	if at, _ := s.Applied(); at != 2 {
		t.Errorf("trying moved the state to %d", at)
	}
	skip := map[oplog.Index]oplog.Digest{3: oplog.DigestOf(poison.Data), 4: oplog.DigestOf(unreadable.Data),
		5: oplog.DigestOf([]byte("another record that had this index"))}
	var sums []Sum
	for i, state := range []*State{s, faulty("b")} {
		state.opts.Skip = skip
		batches := [][]oplog.Record{{poison, unreadable, after}}
		if i == 1 {
			batches = [][]oplog.Record{{poison}, {unreadable}, {after}}
		}
		for _, b := range batches {
			mustApply(t, state, b...)
		}
		_, sum := state.Sum()
		sums = append(sums, sum)
		if err := state.Read(func(v *View) error {
			if _, ok := v.Memory(1, "m"); ok {
				t.Error("half of the skipped record was applied")
			}
			if _, ok := v.Memory(1, "n"); !ok {
				t.Error("the record behind is missing: a digest that differs is another record's")
			}
			rows := v.Audits(10)
			if len(rows) != 2 || rows[1].What != "skip_record" || rows[1].Index != 3 || rows[1].How != "sha256 "+skip[3].String() ||
				rows[0].On != "record 4" {
				t.Errorf("audits %+v", rows)
			}
			if err := v.WriteRange(io.Discard, 2); !errors.Is(err, ErrTrimmed) {
				t.Errorf("a backup of the log leads over a record that was skipped: %v", err)
			}
			return oneInWindow(t, v)
		}); err != nil {
			t.Fatal(err)
		}
		must(t, state.Close())
	}
	if sums[0] != sums[1] {
		t.Errorf("two that skip: %s and %s", sums[0], sums[1])
	}
}
