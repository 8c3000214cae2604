package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// memoryLog holds the records that tests apply (mustApply), like a Raft log.
type memoryLog struct {
	mu      sync.Mutex
	first   oplog.Index
	records map[oplog.Index][]byte
}

func (l *memoryLog) keep(records []oplog.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		if l.records[r.Index] = r.Data; l.first == 0 {
			l.first = r.Index
		}
	}
}

// cut removes the records before first.
func (l *memoryLog) cut(first oplog.Index) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; l.first < first; l.first++ {
		delete(l.records, l.first)
	}
}

func (l *memoryLog) First() oplog.Index {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

func (l *memoryLog) Reader() RecordReader { return memoryReader{l} }

type memoryReader struct{ *memoryLog }

func (r memoryReader) Read(at oplog.Index) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, ok := r.records[at]
	if !ok {
		return nil, ErrTrimmed
	}
	return bytes.Clone(data), nil
}

func (memoryReader) Close() {}

func newMemoryLog() *memoryLog { return &memoryLog{records: map[oplog.Index][]byte{}} }

// newWindow returns a state of n records of one memory each, and its log.
func newWindow(t *testing.T, n int) (*State, *memoryLog) {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	t.Cleanup(func() { s.Close() })
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
	for i := 2; i <= n; i++ {
		remembered(t, s, oplog.Index(i))
	}
	return s, s.opts.Records.(*memoryLog)
}

func remembered(t *testing.T, s *State, at oplog.Index) {
	t.Helper()
	mustApply(t, s, record(at, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: fmt.Sprint(at), Text: "t",
		Namespace: "n"}}}}}))
}

// wantWindow checks where a state's window begins, and which readers it rejects and serves.
func wantWindow(t *testing.T, s *State, first, last oplog.Index) {
	t.Helper()
	must(t, s.Read(func(v *View) error {
		from, to, _, ok := v.Retained()
		if !ok || from != first || to != last {
			t.Errorf("the window is %d to %d (%v), want %d to %d", from, to, ok, first, last)
		}
		if gone, ok := v.Trimmed(); ok != (first > 1) || ok && v.SeekHLC(gone) != first {
			t.Errorf("trimmed up to %x (%v), and the next record is %d, want %d", gone, ok, v.SeekHLC(gone), first)
		}
		if first > 1 {
			if err := v.WriteRange(io.Discard, first-2); !errors.Is(err, ErrTrimmed) {
				t.Errorf("a range from before it: %v", err)
			}
		}
		next := first
		err := v.Log(0, func(o oplog.Outcome) bool {
			if o.Index != next {
				t.Errorf("record %d follows, want %d", o.Index, next)
			}
			next++
			return true
		})
		if next != last+1 {
			t.Errorf("read up to %d, want %d", next-1, last)
		}
		return errors.Join(err, v.WriteRange(io.Discard, first-1))
	}))
}

// TestTheWindowBeginsWhereTheLogDoes: records that the log has lost, or whose bytes differ from the applied ones, are
// not part of the window. Readers with earlier cursors get an error. A view that meets such a record reports that the
// log was cut; the next view begins after it.
func TestTheWindowBeginsWhereTheLogDoes(t *testing.T) {
	t.Parallel()
	s, log := newWindow(t, 60)
	wantWindow(t, s, 1, 60)
	log.cut(20)
	wantWindow(t, s, 20, 60)
	must(t, s.Read(func(v *View) error {
		if first, _, _, _ := v.Retained(); first != 20 {
			t.Errorf("it begins at %d", first)
		}
		log.cut(30)
		if err := v.Log(0, func(oplog.Outcome) bool { return true }); !errors.Is(err, ErrTrimmed) {
			t.Errorf("cut meanwhile: %v", err)
		}
		return nil
	}))
	wantWindow(t, s, 30, 60)
	log.records[40] = log.records[41]
	must(t, s.Read(func(v *View) error {
		n := 0
		if err := v.Log(0, func(oplog.Outcome) bool { n++; return true }); !errors.Is(err, ErrTrimmed) || n != 10 {
			t.Errorf("another record: %v after %d", err, n)
		}
		return nil
	}))
	wantWindow(t, s, 41, 60)
	log.cut(61)
	log.first = 0
	must(t, s.Read(func(v *View) error {
		if _, _, _, ok := v.Retained(); ok {
			t.Error("an empty log leaves a window")
		}
		if gone, ok := v.Trimmed(); !ok || gone != v.Time() {
			t.Errorf("trimmed up to %x, %v", gone, ok)
		}
		return nil
	}))
}

// TestASnapshotHasNoWindow: after a snapshot is restored, the window begins after it and grows with the applied
// records.
func TestASnapshotHasNoWindow(t *testing.T) {
	t.Parallel()
	from, _ := newWindow(t, 30)
	to, _ := newWindow(t, 5)
	must(t, to.Restore(snapshotOf(t, from), nil))
	if at := to.FirstRetained(); at != 31 {
		t.Errorf("of the log it wants the records from %d on", at)
	}
	must(t, to.Read(func(v *View) error {
		if _, _, _, ok := v.Retained(); ok || v.has(tLog, 0, nil) {
			t.Error("it has a window")
		}
		if gone, ok := v.Trimmed(); !ok || gone != v.Time() {
			t.Errorf("trimmed up to %x, %v", gone, ok)
		}
		return errors.Join(v.WriteRange(io.Discard, 30), v.Log(0, func(oplog.Outcome) bool { return false }))
	}))
	for at := oplog.Index(31); at <= 35; at++ {
		remembered(t, to, at)
		remembered(t, from, at)
	}
	wantWindow(t, to, 31, 35)
	wantWindow(t, from, 1, 35)
	_, sum := from.Sum()
	if _, got := to.Sum(); got != sum {
		t.Error("the states differ")
	}
	must(t, to.Verify())
}
