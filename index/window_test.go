package index_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/store"
)

// TestTheLogBehindACheckpointIsDamaged: an index that cannot read what happened since its checkpoint reads the state instead.
func TestTheLogBehindACheckpointIsDamaged(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 200), questions()[:20]
	whole := openReplica(t)
	whole.apply(l.records, 50)
	want := whole.answers(qs)
	r := openReplica(t)
	r.apply(l.records[:len(l.records)/2], 50)
	r.index.Close()
	if _, err := r.state.Apply(l.records[len(l.records)/2:]); err != nil {
		t.Fatal(err)
	}
	must(t, r.state.Close())
	path := filepath.Join(r.home, "state")
	rows, err := store.Open(filepath.Join(path, "1"), store.Options{NoSync: true}, nil)
	must(t, err)
	b := rows.Batch()
	for i := range uint64(len(l.records)) { // of the window, whose table is the last of database 0
		err = errors.Join(err, b.Set(binary.BigEndian.AppendUint64([]byte{0, 0, 0, 0, 255}, i+1), []byte("no record")))
	}
	err = errors.Join(err, b.Commit())
	b.Close()
	must(t, errors.Join(err, rows.Close()))
	if r.state, err = state.Open(path, state.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.state.Verify(); !errors.Is(err, state.ErrState) {
		t.Errorf("counting the state says %v", err)
	}
	r.openIndex()
	sameAnswers(t, "damaged log", qs, r.answers(qs), want)
}
