package state

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestLogWindow: the window of retained records ends at its maximum size or age, whichever comes first, and reports
// where.
func TestLogWindow(t *testing.T) {
	const minute = 60_000 // in milliseconds of the log
	for _, c := range []struct {
		name  string
		opts  Options
		first oplog.Index // after 100 records of one operation, a minute apart
	}{
		{"by age", Options{NoSync: true, RetainOps: 1000, RetainTime: 10 * time.Minute}, 90},
		{"by size", Options{NoSync: true, RetainOps: 5, RetainTime: 1000 * time.Hour}, 96},
		{"not yet", Options{NoSync: true, RetainOps: 1000, RetainTime: 1000 * time.Hour}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := newMemoryLog()
			c.opts.Records = log
			s, err := Open(filepath.Join(t.TempDir(), "state"), c.opts)
			must(t, err)
			defer s.Close()
			at := func(i oplog.Index) oplog.HLC { return oplog.MakeHLC(uint64(i)*minute, 0, 1) }
			for i := oplog.Index(1); i <= 100; i++ {
				db, op := oplog.DB(0), oplog.Op(&oplog.Init{Cluster: "c", At: 1})
				if i > 1 {
					db, op = oplog.DefaultDB, &oplog.Remember{Content: oplog.Content{RID: fmt.Sprint(i), Text: "t",
						Namespace: "n", Created: oplog.Time(i)}}
				}
				body, err := oplog.Entry{DB: db, Ops: []oplog.Op{op}}.Encode()
				must(t, err)
				mustApply(t, s, oplog.Record{Index: i, Term: 1, Data: oplog.EncodeRecord(at(i), body)})
			}
			err = s.Read(func(v *View) error {
				first, last, since, ok := v.Retained()
				if !ok || first != c.first || last != 100 || since != at(first) {
					t.Errorf("holds %d to %d since %x (%v), want %d to 100", first, last, since, ok, c.first)
				}
				trimmed, gone := v.Trimmed()
				if gone != (c.first > 1) || gone && trimmed != at(c.first-1) {
					t.Errorf("the newest that left: %x (%v), want %x", trimmed, gone, at(c.first-1))
				}
				if got := v.SeekHLC(at(99)); got != 99 {
					t.Errorf("the record of minute 99 is found at %d", got)
				}
				n := 0
				if err := v.Log(0, func(oplog.Outcome) bool { n++; return true }); err != nil || n != int(100-c.first+1) {
					t.Errorf("the log has %d entries (%v), want %d", n, err, 100-c.first+1)
				}
				return nil
			})
			must(t, err)
		})
	}
}

// TestLargeRecords: the memory for an entry and a cursor does not depend on the size of the records in the window.
func TestLargeRecords(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("weighs memory")
	}
	const imports, applied = 8, 50
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true, Buffer: 64 << 20}) // a flush would take memory too
	must(t, err)
	defer s.Close()
	noise := make([]float32, 1024)
	size, at := 0, oplog.Index(0)
	for range imports {
		entries := []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}, {DB: 1}}
		for range 250 {
			for i := range noise { // random bytes, which cannot be compressed
				noise[i] = rand.Float32()
			}
			entries[1].Ops = append(entries[1].Ops,
				&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "t", Namespace: "default"},
					Vector: oplog.MakeVector(noise)})
		}
		at++
		r := record(at, entries)
		size = len(r.Data)
		mustApply(t, s, r)
	}
	one := func() {
		at++
		mustApply(t, s, record(at,
			[]oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "t",
				Namespace: "default"}}}}}))
	}
	one() // reads the oldest entry
	if each := allocated(func() {
		for range applied {
			one()
		}
	}) / applied; each > uint64(size/10) {
		t.Errorf("an entry of one memory takes %d bytes of memory; the window begins with a record of %d", each, size)
	}
	must(t, s.Read(func(v *View) error {
		if took := allocated(func() { v.SeekHLC(oplog.MakeHLC(1, 0, 0)) }); took > uint64(size/10) {
			t.Errorf("looking for the first record takes %d bytes of memory, a record has %d", took, size)
		}
		return nil
	}))
}

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLogKeepsRows: the log lists memories that an entry changed although its operations do not name them.
func TestLogKeepsRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	for i, op := range []oplog.Op{
		&oplog.Init{Cluster: "c", At: 1},
		&oplog.Remember{Content: oplog.Content{RID: "a", Text: "t", Namespace: "n", Created: 10}},
		&oplog.Cognition{Outdated: []oplog.Grounds{{RID: "a"}}, At: 30},
	} {
		body, err := oplog.Entry{DB: oplog.DB(min(i, 1)), Ops: []oplog.Op{op}}.Encode()
		must(t, err)
		n := uint64(i + 1)
		mustApply(t, s, oplog.Record{Index: oplog.Index(n), Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1000+n, 0, 1), body)})
	}
	var rows []string
	err := s.Read(func(v *View) error {
		return v.Log(0, func(o oplog.Outcome) bool {
			for _, r := range o.Results {
				rows = append(rows, r.Rows...)
			}
			return true
		})
	})
	if err != nil || len(rows) != 1 || rows[0] != "a" {
		t.Errorf("rows %q, %v; want a", rows, err)
	}
}

// oneInWindow fails unless the window of the log has exactly one entry of a database.
func oneInWindow(t *testing.T, v *View) error {
	t.Helper()
	n := 0
	err := v.Log(0, func(o oplog.Outcome) bool {
		if o.Entry.DB != 0 {
			n++
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d entries of databases in the window", n)
	}
	return err
}
