package state

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// TestAnAlteredRowDoesNotSpread changes a text in the rows of a state without the Sum, as broken memory does. The
// scrub of the state finds it, and its snapshot cannot be restored.
func TestAnAlteredRowDoesNotSpread(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	mustApply(t, s, markedHistory()...)
	must(t, s.Scrub(t.Context(), 0))
	b := s.live.Batch()
	w := newTxn(b)
	w.b = b
	key := seqKey(1)
	row := w.get(tMemory, oplog.DefaultDB, key)
	m := decode[oplog.Memory](row)
	m.Text += " or not"
	w.set(tMemory, oplog.DefaultDB, key, w.encode(&m))
	must(t, b.Commit())
	b.Close()
	if err := s.Scrub(t.Context(), 0); !errors.Is(err, ErrState) {
		t.Errorf("a scrub says %v", err)
	}
	other := mustOpen(t, filepath.Join(t.TempDir(), "b"))
	defer other.Close()
	sent := snapshotOf(t, s).Bytes()
	for name, take := range map[string]func() error{
		"restored":  func() error { return other.Restore(bytes.NewReader(sent), nil) },
		"caught up": func() error { _, err := other.CatchUp(bytes.NewReader(sent), nil); return err },
	} {
		if err := take(); !errors.Is(err, ErrNotSummed) || !errors.Is(err, snapshot.ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at, _ := other.Applied(); at != 0 {
		t.Errorf("the other state is at %d", at)
	}
}
