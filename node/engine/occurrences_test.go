package engine

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

// TestAKeyOfAnExpiredMemoryHasEvents: subscribers get an event for a memory whose time is over when an entry gives its
// key to another, before a sweep came, and for one that is current again. Who reads the log later gets the same.
func TestAKeyOfAnExpiredMemoryHasEvents(t *testing.T) {
	t.Parallel()
	s, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const begin = 1_700_000_000_000
	var last []oplog.Outcome
	apply := func(db oplog.DB, ops ...oplog.Op) {
		t.Helper()
		at, _ := s.Applied()
		e := oplog.Entry{Node: 1, DB: db, Ops: ops}
		body, err := e.Encode()
		if err == nil {
			last, err = s.Apply([]oplog.Record{{Index: at + 1, Term: 1,
				Data: oplog.EncodeRecord(oplog.MakeHLC(begin+uint64(at)*1000, 0, 1), body)}})
		}
		if err != nil || last[0].Err != nil {
			t.Fatal(err, last)
		}
	}
	memory := func(rid, path string, expires oplog.Time) *oplog.Remember {
		return &oplog.Remember{Content: oplog.Content{RID: rid, Text: "of " + rid, Namespace: "default", Created: 1, Path: path,
			Expires: expires}}
	}
	apply(0, &oplog.Init{Cluster: "c", At: 1})
	apply(1, memory("old", "", 0))
	apply(1, memory("holder", "/k", (begin+3500)*1000))
	apply(1, &oplog.Supersede{Marks: []oplog.Mark{{RID: "old", By: "holder", Record: oplog.ConflictRow{ID: "c"}}}, At: 9})
	apply(1, &oplog.Keyed{Namespace: "default", Path: "/k", IfAbsent: true}, memory("next", "/k", 0))
	want := []occurrence{{"forgotten", "holder"}, {"corrected", "old"}, {"stored", "next"}}
	if err := s.Read(func(v *state.View) error {
		if got := occurrences(v, &last[0]); !slices.Equal(got, want) {
			t.Errorf("at once %v, want %v", got, want)
		}
		return v.Log(last[0].Index, func(o oplog.Outcome) bool {
			if got := occurrences(v, &o); !slices.Equal(got, want) {
				t.Errorf("from the log %v, want %v", got, want)
			}
			return true
		})
	}); err != nil {
		t.Fatal(err)
	}
}
