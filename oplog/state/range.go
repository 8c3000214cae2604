package state

import (
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// Errors of WriteRange: the backup cannot be continued by a range and needs a snapshot.
var (
	ErrTrimmed = &oplog.Error{Kind: oplog.Conflict, Text: "the log no longer holds records that old"}
	ErrHistory = &oplog.Error{Kind: oplog.Conflict, Text: "the backup that is to be continued is of another history of the log"}
)

// Point returns the state's place in the log and its hash.
func (s *State) Point() Point { return s.position().Point }

// Point returns the view's place in the log and its hash.
func (v *View) Point() Point { return v.position().Point }

// WriteRange streams the records after since, up to the view.
//
// A range holds nothing that purges erased. For a database that was purged after since, it has no entries; instead
// the database's rows, as of the view, follow the records. The rows of the control plane follow too, because entries
// of a database may write there.
func (v *View) WriteRange(w io.Writer, since oplog.Index) error {
	if since > v.position().Index {
		return oplog.Errorf(oplog.Invalid, "the log ends at %d, before %d", v.position().Index, since)
	} else if _, trimmed := v.Trimmed(); trimmed && since+1 < v.windowStart() {
		return ErrTrimmed
	}
	purges, purged, erased := v.Purges(), v.Purged() > since, map[oplog.DB]bool{}
	lacks := func(db oplog.DB) bool {
		if !erased[db] && purges.of(db) > since {
			erased[db] = true
		}
		return erased[db]
	}
	head := snapshot.Head{Since: since, Index: v.position().Index, Term: v.position().Term, Hash: v.position().Sum}
	return snapshot.WriteRange(w, head, func(record func(oplog.Index, oplog.HLC, []byte) error) error {
		return v.records(since+1, func(at oplog.Index, r *logRow, data []byte, bodies [][]byte) (bool, error) {
			for _, b := range bodies {
				if db, gone := oplog.Erased(b); gone {
					erased[db] = true // the purge may be newer than the view
				}
			}
			if purged || len(erased) > 0 {
				left, err := oplog.EraseEntries(data, lacks)
				if err != nil {
					return false, fmt.Errorf("record %d: %w", at, err)
				}
				if left != nil {
					data = left
				}
			}
			return true, record(at, r.HLC, data)
		})
	}, func(row func(k, v []byte) error) error { return v.replacementRows(erased, row) })
}

// replacementRows walks the rows that follow the records of a range: of databases whose entries it lacks, of the
// control plane, and of dropped databases. Dropped ones are included because each step of their erasure depends on
// the rows that exist, which differ where entries are missing.
func (v *View) replacementRows(erased map[oplog.DB]bool, row func(k, v []byte) error) error {
	if len(erased) == 0 {
		return nil
	}
	dbs := append(slices.Collect(maps.Keys(erased)), v.dropped()...)
	slices.Sort(dbs)
	for _, db := range slices.Compact(append([]oplog.DB{0}, dbs...)) {
		for k, val := range v.walk(replicated(db), false) {
			if err := row(k, val); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropped lists the dropped databases that still have rows.
func (t *txn) dropped() (dbs []oplog.DB) {
	for k := range t.scan(tDropped, 0, nil) {
		dbs = append(dbs, oplog.DB(beUint64(k)))
	}
	return dbs
}

// replicated returns the span of a database's rows that are part of the Sum.
func replicated(db oplog.DB) span {
	return span{lower: appendRow(nil, 0, db, nil), upper: appendRow(nil, tMeta, db, nil)}
}

// Replayed reports how far a range was applied.
type Replayed struct {
	Complete bool        // the range was applied to its end, and the Sum matches
	End      oplog.Index // the range's last record

	// Erased maps each database with missing entries to the first record that lacks one. Its rows are wrong unless
	// the range was applied to its end.
	Erased map[oplog.DB]oplog.Index
}

// ApplyRange applies the records of a range in order, up to the first that upTo rejects. It is for a state that is
// being restored: after an error the state is unusable.
func (s *State) ApplyRange(in io.Reader, upTo func(oplog.Index, oplog.Time) bool) (done Replayed, err error) {
	r, err := snapshot.ReadRange(in)
	if err != nil {
		return done, err
	}
	defer r.Close()
	if own := s.Point().Index; r.Since > own {
		return done, fmt.Errorf("%w: it begins after %d, the state is at %d", snapshot.ErrRange, r.Since, own)
	}
	done.End, done.Erased = r.Index, map[oplog.DB]oplog.Index{}
	var batch []oplog.Record
	size := 0 // of the batch, decoded
	apply := func() error {
		_, err := s.apply(batch, done.Erased, false)
		batch, size = batch[:0], 0
		return err
	}
	var last oplog.Time
	for end := false; !end; {
		rec, at, err := r.Next()
		switch {
		case err == io.EOF: // not wrapped: a wrapped EOF is a truncated range
			end, done.Complete = true, true
			if upTo(r.Index, last) { // the log's own bookkeeping is not in the range: an empty record moves the state over it
				batch = append(batch, oplog.Record{Index: r.Index, Term: r.Term})
			}
		case err != nil:
			return done, err
		case !upTo(rec.Index, at):
			end = true
		default:
			more := oplog.RecordSize(rec.Data)
			if len(batch) > 0 && size+more > rangeBytes {
				if err := apply(); err != nil {
					return done, err
				}
			}
			batch, size, last = append(batch, rec), size+more, at
		}
		if end || len(batch) == rangeBatch {
			if err := apply(); err != nil {
				return done, err
			}
		}
	}
	if !done.Complete {
		return done, nil
	}
	if err := s.replaceRows(r); err != nil {
		return done, err
	}
	if got := s.Point().Sum; got != r.Hash {
		return done, fmt.Errorf("%w: the hash of the state is %s, the log has %s", snapshot.ErrRange, got, hex.EncodeToString(r.Hash[:]))
	}
	return done, nil
}

// The bounds of one batch of a range: of records, and of bytes of records, decoded, or of rows.
const (
	rangeBatch = 256
	rangeBytes = 4 << 20
)

// replaceRows reads the rows that follow a range's records. It first removes all rows of their databases, and of
// dropped ones.
func (s *State) replaceRows(r *snapshot.Range) error {
	k, v, err := r.Row()
	of := oplog.DB(0) // the database of the previous row, whose old rows are removed
	for first := true; err == nil; first = false {
		if cerr := s.change(func(t *txn, _ *position) error {
			if first {
				for _, db := range append(t.dropped(), of) {
					t.wipe(db)
				}
			}
			for size := 0; err == nil && size < rangeBytes; k, v, err = r.Row() {
				table, db, key, ok := rowOf(k)
				if !ok || table >= tMeta {
					return fmt.Errorf("%w: row %x", snapshot.ErrRange, k)
				}
				if db != of {
					t.wipe(db)
					of = db
				}
				t.replace(table, db, key, nil, v, true)
				size += len(k) + len(v)
			}
			return nil
		}); cerr != nil {
			return cerr
		}
	}
	if err != io.EOF {
		return err
	}
	return nil
}

// wipe removes all rows of a database.
func (t *txn) wipe(db oplog.DB) {
	all := replicated(db)
	for row, val := range t.walk(all, false) {
		table, _, key, _ := rowOf(row)
		t.tally.count(true, table, db, key, val)
	}
	if err := t.b.DeleteRange(all.lower, all.upper); err != nil {
		failDisk(0, db, err)
	}
	t.stale = append(t.stale, db)
	t.expiry[db] = 0
	t.cache.clear()
	clear(t.databases)
	clear(t.prefetched)
}
