package state

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"pgregory.net/rapid"
)

// TestRangesLeadOverPurges: a snapshot and the following ranges restore the state that they were written from,
// whatever was purged, dropped and erased from the log in between or while a range was written. If a range is applied
// up to a record inside it, each database with all of its entries equals the source at that record.
func TestRangesLeadOverPurges(t *testing.T) {
	dir, run, over, inside := t.TempDir(), 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		records := history(t)
		open := func(name string, restore *bytes.Buffer) *State {
			s := mustOpen(t, filepath.Join(dir, fmt.Sprint(run, name)))
			t.Cleanup(func() { s.Close() })
			if restore != nil {
				must(t, s.Restore(restore, nil))
			}
			return s
		}
		source := open("source", nil)
		log := source.opts.Records.(*memoryLog)
		was := map[oplog.Index]map[oplog.DB]Sum{} // the sums of the databases after each record
		apply := func(n int) {
			for range min(n, len(records)) {
				mustApply(t, source, records[0])
				was[records[0].Index] = databaseSums(t, source)
				records = records[1:]
			}
			if rapid.Bool().Draw(t, "the log is erased") {
				must(t, source.Read(func(v *View) error { return log.erase(v.Purges()) }))
			}
		}
		apply(rapid.IntRange(1, 20).Draw(t, "base"))
		copied, since := open("copy", snapshotOf(t, source)), source.Point().Index
		for step := 0; len(records) > 0; step++ {
			apply(rapid.IntRange(1, 30).Draw(t, "range"))
			v, err := source.View()
			must(t, err)
			defer v.Close()
			apply(rapid.IntRange(0, 3).Draw(t, "meanwhile"))
			var written bytes.Buffer
			must(t, recoverDamage(func() error { return v.WriteRange(&written, since) }))
			end, last, point := v.Point(), v.Time(), since+oplog.Index(rapid.IntRange(0, int(v.Index()-since)).Draw(t, "point"))
			part := open(fmt.Sprint("part", step), snapshotOf(t, copied))
			if done, err := part.ApplyRange(bytes.NewReader(written.Bytes()), upTo(point)); err != nil {
				t.Fatalf("up to %d: %v", point, err)
			} else if at := part.Point().Index; !done.Complete {
				if len(done.Erased) > 0 {
					inside++
				}
				got := databaseSums(t, part)
				maps.DeleteFunc(got, func(db oplog.DB, _ Sum) bool { return done.Erased[db] > 0 || db == 0 && len(done.Erased) > 0 })
				for db, sum := range got {
					if sum != was[at][db] {
						t.Fatalf("database %d at %d: it has %s, the range lacks %v", db, at, sum, done.Erased)
					}
				}
			}
			done, err := copied.ApplyRange(&written, upTo(end.Index))
			if err != nil || !done.Complete || copied.Point() != end || copied.Last() != last {
				t.Fatalf("behind %d: %+v, %v, at %+v, %v; want %+v, %v", since, done, err, copied.Point(), copied.Last(), end, last)
			}
			if len(done.Erased) > 0 {
				over++
			}
			must(t, copied.Read(func(v *View) error {
				if got := v.Recount(); got != v.Sum() {
					return fmt.Errorf("sum %s, counted %s", v.Sum(), got)
				}
				return nil
			}))
			checkCurrent(t, copied)
			if since = end.Index; rapid.IntRange(0, 3).Draw(t, "overlap") == 0 { // the next range overlaps this one
				since -= oplog.Index(rapid.IntRange(0, int(since-1)).Draw(t, "earlier"))
			}
		}
	})
	t.Logf("%d ranges lead over a purge, and %d times a point was inside of one", over, inside)
	if run >= 100 && min(over, inside) == 0 {
		t.Error("some of what is tested was not drawn")
	}
}

// TestARangeLeadsOverErasing: a dropped database is erased in steps, and a restore without all of its entries has
// other rows to erase. In the end each database equals that of the source.
func TestARangeLeadsOverErasing(t *testing.T) {
	suite.NotShort(t, "many records, one after the other")
	t.Parallel()
	t.Run("with fewer rows", func(t *testing.T) { checkRangeOverErasing(t, 0, 900) })
	t.Run("with rows that were purged", func(t *testing.T) { checkRangeOverErasing(t, suite.Count(4, 10, 10), 0) })
}

// checkRangeOverErasing checks a restore of a snapshot and a range at each step in which the source erases two
// dropped databases. names is the number of names of each memory before the range, more the number of memories in it.
func checkRangeOverErasing(t *testing.T, names, more int) {
	dir := t.TempDir()
	s := mustOpen(t, filepath.Join(dir, "state"))
	defer s.Close()
	next := func(db oplog.DB, ops ...oplog.Op) {
		at := s.Point().Index + 1
		mustApply(t, s, record(at, []oplog.Entry{{DB: db, Ops: ops}}))
	}
	many := func(db oplog.DB, n, names int) {
		var ops []oplog.Op
		for i := range n {
			m := &oplog.Remember{Content: oplog.Content{RID: fmt.Sprint(s.Point().Index, "/", i), Text: "text",
				Namespace: "n", Created: 10}}
			for name := range names {
				m.Entities = append(m.Entities, oplog.Mention{Name: fmt.Sprint(i, "/", name)})
			}
			ops = append(ops, m)
		}
		next(db, ops...)
	}
	next(0, &oplog.Init{Cluster: "c", At: 1})
	for db, name := range []string{2: "first", 3: "second"} {
		if name != "" {
			next(0, &oplog.CreateDB{Name: name, At: 1})
			many(oplog.DB(db), 500, names)
		}
	}
	since, base := s.Point().Index, snapshotOf(t, s)
	many(2, more, 0)
	next(2, &oplog.Purge{Before: 100, At: 100})
	next(0, &oplog.DropDB{Name: "first", At: 101})
	next(0, &oplog.DropDB{Name: "second", At: 101})
	left := func(db oplog.DB) (n int) {
		must(t, s.Read(func(v *View) error {
			for range v.walk(replicated(db), false) {
				n++
			}
			return nil
		}))
		return n
	}
	half := 0 // steps that ended within a database
	for step, was := 0, -1; was != 0; step++ {
		copied, log := mustOpen(t, filepath.Join(dir, fmt.Sprint("copy", step))), new(bytes.Buffer)
		must(t, copied.Restore(bytes.NewReader(base.Bytes()), nil))
		must(t, s.Read(func(v *View) error { return v.WriteRange(log, since) }))
		if done, err := copied.ApplyRange(log, upTo(s.Point().Index)); err != nil || copied.Point() != s.Point() {
			t.Errorf("%d and %d rows are left: %+v, %v", left(2), left(3), done, err)
		}
		copied.Close()
		was = left(2) + left(3)
		next(0, &oplog.Erase{At: 102})
		if now := left(2); now > 0 {
			half++
		} else if now = left(3); now > 0 && now < was {
			half++
		}
	}
	if half < 3 {
		t.Errorf("a step ended within a database %d times", half)
	}
}

func upTo(last oplog.Index) func(oplog.Index, oplog.Time) bool {
	return func(at oplog.Index, _ oplog.Time) bool { return at <= last }
}

// databaseSums returns the Sum of each existing database, and that of the control plane as database 0.
func databaseSums(t fataler, s *State) map[oplog.DB]Sum {
	sums := map[oplog.DB]Sum{}
	must(t, s.Read(func(v *View) error {
		dbs := []oplog.DB{0}
		for _, d := range v.Databases() {
			dbs = append(dbs, d.ID)
		}
		for _, db := range dbs {
			var sum Sum
			for k, val := range v.walk(replicated(db), false) {
				sum.addRow(k, val)
			}
			sums[db] = sum
		}
		return nil
	}))
	return sums
}

// erase removes the entries of purged databases from all records, as a node does.
func (l *memoryLog) erase(p Purges) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range slices.Collect(maps.Keys(l.records)) {
		if rec, err := p.Erase(uint64(at), l.records[at]); err != nil {
			return err
		} else if rec != nil {
			l.records[at] = rec
		}
	}
	return nil
}

// TestARangeIsAppliedInBoundedBatches: records of an import have megabytes each, so a batch ends at a number of bytes
// or of records.
func TestARangeIsAppliedInBoundedBatches(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "source"))
	defer s.Close()
	to := mustOpen(t, filepath.Join(t.TempDir(), "restored"))
	defer to.Close()
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
	must(t, to.Restore(snapshotOf(t, s), nil))
	text := string(bytes.Repeat([]byte("lighthouse "), oplog.MaxText/11))
	for i := range oplog.Index(4 * rangeBytes / oplog.MaxText) {
		mustApply(t, s, record(i+2, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{
			RID: fmt.Sprint("m", i), Text: text, Namespace: "default", Created: 1}}}}}))
	}
	var written bytes.Buffer
	must(t, s.Read(func(v *View) error { return v.WriteRange(&written, 1) }))
	most := oplog.Index(0)
	_, err := to.ApplyRange(&written, func(at oplog.Index, _ oplog.Time) bool {
		most = max(most, at-to.Point().Index-1)
		return true
	})
	must(t, err)
	if held := int(most) * len(text); held > rangeBytes {
		t.Errorf("%d records of %d KiB wait at once", most, len(text)>>10)
	}
}
