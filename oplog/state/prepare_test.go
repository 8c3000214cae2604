package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestALargeBatchMeetsDamage: if a row that is read ahead is damaged, the whole batch fails and nothing of it is
// applied, as for a small batch.
func TestALargeBatchMeetsDamage(t *testing.T) {
	for _, n := range []int{1, 8 * entriesPerWorker} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := mustOpen(t, dir)
			remember := func(i int) oplog.Op {
				return &oplog.Remember{Content: oplog.Content{RID: fmt.Sprintf("m%05d", i),
					Text: fmt.Sprint("lighthouse number ", i), Namespace: "default", Created: 1},
					Entities: []oplog.Mention{{Name: fmt.Sprint("Keeper ", i)}}}
			}
			ops := make([]oplog.Op, 2000)
			for i := range ops {
				ops[i] = remember(i)
			}
			mustApply(t, s, record(1, []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}),
				record(2, []oplog.Entry{{Node: 1, DB: 1, Ops: ops}}))
			must(t, errors.Join(s.Flush(), s.Close()))
			s = mustOpen(t, dir)
			defer s.Close()
			flipTables(t, dir)
			entries := make([]oplog.Entry, n)
			for i := range entries {
				entries[i] = oplog.Entry{Node: 1, DB: 1, Ops: []oplog.Op{remember(i * 7)}}
			}
			if _, err := s.Apply([]oplog.Record{record(3, entries)}); !errors.Is(err, ErrState) {
				t.Errorf("the batch says %v", err)
			}
			if at, _ := s.Applied(); at != 2 {
				t.Errorf("the state is at %d", at)
			}
		})
	}
}
