package index_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
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
	if err := r.state.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.home, "state.db")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	time := []byte("\xa1h\xc4\x10") // of a record in the window: 16 bytes
	if !bytes.Contains(raw, time) {
		t.Fatal("no records in the window")
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(raw, time, []byte("\xa1h\xc4\x11")), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.state, err = oplog.Open(path, oplog.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.state.Verify(); !errors.Is(err, oplog.ErrState) {
		t.Errorf("counting the state says %v", err)
	}
	r.openIndex()
	sameAnswers(t, "damaged log", qs, r.answers(qs), want)
}
