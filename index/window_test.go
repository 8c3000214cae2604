package index_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/store"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTheLogBehindACheckpointIsDamaged: an index that cannot read the log after its checkpoint reads the state
// instead.
func TestTheLogBehindACheckpointIsDamaged(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	l, qs := history(t, 200), questions()[:20]
	undamaged := openReplica(t)
	undamaged.apply(l.records, 50)
	want := undamaged.answers(qs)
	missed := l.records[len(l.records)/2:]
	for name, damage := range map[string]func(t *testing.T, r *replica){
		"what the state knows of records": func(t *testing.T, r *replica) {
			must(t, r.state.Close())
			path := filepath.Join(r.home, "state")
			rows, err := store.Open(filepath.Join(path, "1"), store.Options{NoSync: true}, nil)
			must(t, err)
			b := rows.Batch()
			for i := range uint64(len(l.records)) { // rows of the window, the last table of database 0
				err = errors.Join(err, b.Set(binary.BigEndian.AppendUint64([]byte{0, 0, 0, 0, 255}, i+1), []byte("no record")))
			}
			err = errors.Join(err, b.Commit())
			b.Close()
			must(t, errors.Join(err, rows.Close()))
			r.state, err = statetest.Open(path, state.Options{NoSync: true}, r.state.Log)
			must(t, err)
			if err := r.state.Verify(); !errors.Is(err, state.ErrState) {
				t.Errorf("counting the state says %v", err)
			}
		},
		"the bytes of a record": func(t *testing.T, r *replica) {
			r.state.Log.Change(missed[20].Index, []byte("no record"))
			must(t, r.state.Verify())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := openReplica(t)
			r.apply(l.records[:len(l.records)/2], 50)
			r.index.Close()
			if _, err := r.state.Apply(missed); err != nil {
				t.Fatal(err)
			}
			damage(t, r)
			r.openIndex()
			sameAnswers(t, name, qs, r.answers(qs), want)
		})
	}
}
