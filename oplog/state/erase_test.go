package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestADroppedDatabaseIsErasedInSteps: the cost of dropping a database does not depend on its size. Its name is free
// at once, its rows are removed in bounded steps, and the Sum equals that of the rows after each step.
func TestADroppedDatabaseIsErasedInSteps(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	at := oplog.Index(0)
	apply := func(db oplog.DB, ops ...oplog.Op) oplog.Outcome {
		t.Helper()
		at++
		out, err := s.Apply([]oplog.Record{record(at, []oplog.Entry{{Node: 1, DB: db, Ops: ops}})})
		must(t, err)
		if out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
		return out[0]
	}
	rows := func() (n int) {
		t.Helper()
		must(t, s.Read(func(v *View) error {
			for range v.walk(span{lower: appendRow(nil, 0, 2, nil), upper: appendRow(nil, 0, 3, nil)}, false) {
				n++
			}
			if got := v.Recount(); got != v.Sum() {
				t.Errorf("at %d the rows sum to %s, and the Sum is %s", v.Index(), got, v.Sum())
			}
			return nil
		}))
		return n
	}
	apply(0, &oplog.Init{Cluster: "c", At: 1})
	apply(0, &oplog.CreateDB{Name: "work", At: 2})
	apply(1, &oplog.Remember{Content: oplog.Content{RID: "kept", Text: "of another database", Namespace: "default", Created: 1}})
	for n := range 50 {
		var ops []oplog.Op
		for i := range 50 {
			ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: fmt.Sprintf("m%d-%d", n, i), Text: "gone",
				Namespace: "default", Created: 1}})
		}
		apply(2, ops...)
	}
	held := rows()
	if held < 2*eraseRows {
		t.Fatalf("%d rows are erased in one step", held)
	}
	apply(0, &oplog.DropDB{Name: "work", At: 3})
	if now := rows(); now != held {
		t.Errorf("dropping it erased %d rows at once", held-now)
	}
	if again := apply(0, &oplog.CreateDB{Name: "work", At: 4}).Results[0].Num; again != 3 {
		t.Errorf("the next database of this name has number %d", again)
	}
	if _, err := s.Current(2); !errors.Is(err, oplog.ErrNoDatabase) {
		t.Errorf("it is there: %v", err)
	}
	for left := held; left > 0; {
		r := apply(0, &oplog.Erase{At: 5}).Results[0]
		if r.Num == 0 || r.Num > eraseRows || !r.Changed {
			t.Fatalf("a step erased %d rows", r.Num)
		}
		if left -= int(r.Num); rows() != left {
			t.Fatalf("%d rows are left, want %d", rows(), left)
		}
	}
	if r := apply(0, &oplog.Erase{At: 6}).Results[0]; r.Changed {
		t.Errorf("there is more to erase: %+v", r)
	}
	must(t, s.Read(func(v *View) error {
		if m, ok := v.Memory(1, "kept"); !ok || v.Erasing() {
			t.Errorf("the other database has %+v; more to erase: %t", m, v.Erasing())
		}
		return nil
	}))
}
