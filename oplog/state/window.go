package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// extent holds a record's time and how much of the window it takes.
type extent struct {
	HLC     oplog.HLC `msgpack:"h"` // after the clock rule, so later than all earlier ones
	Entries int       `msgpack:"e"`
	Ops     int       `msgpack:"n"` // of all entries
}

// last returns the time of the record's last entry.
func (e extent) last() oplog.HLC { return e.HLC.Add(uint32(max(e.Entries, 1) - 1)) }

// logRow is the row of a record in the log's window. It holds only what the state alone knows; Records has the bytes.
type logRow struct {
	extent `msgpack:",inline"`
	Check  uint32 `msgpack:"c"`           // oplog.SumOf the record that was applied
	Notes  []note `msgpack:"w,omitempty"` // in entry order; an entry that did exactly what it says has none
}

// A note records the outcome of an entry.
type note struct {
	Entry int      `msgpack:"e"`
	Void  bool     `msgpack:"v,omitempty"` // it did nothing: it was rejected or replayed, or the memories to forget did not exist
	Idle  []int    `msgpack:"i,omitempty"` // indexes of operations that did nothing
	Rows  []string `msgpack:"r,omitempty"` // memories that it changed and its operations do not name
}

// add adds the note of the next entry, if it needs one.
func (r *logRow) add(o *oplog.Outcome) {
	n := note{Entry: o.Number}
	if n.Void = len(o.Done()) == 0 && len(o.Entry.Ops) > 0; !n.Void {
		n.Idle, n.Rows = o.Idle(), rowsOf(o.Results)
	}
	if n.Void || n.Idle != nil || n.Rows != nil {
		r.Notes = append(r.Notes, n)
	}
}

// noteOf returns the note of an entry.
func (r *logRow) noteOf(entry int) note {
	if at, noted := slices.BinarySearchFunc(r.Notes, entry, func(n note, entry int) int { return cmp.Compare(n.Entry, entry) }); noted {
		return r.Notes[at]
	}
	return note{Entry: entry}
}

// rowsOf joins the Rows of an entry's results.
func rowsOf(results []oplog.Result) (rows []string) {
	for _, r := range results {
		rows = append(rows, r.Rows...)
	}
	return rows
}

// trimBatch bounds the records that one Apply drops. It is more than Apply adds, so the window shrinks to its size.
const trimBatch = 64

// trim drops records beyond RetainOps or RetainTime. It keeps the oldest record's time in the position, so that not
// every Apply reads that record.
func (s *State) trim(t *txn, m *position) {
	cutoff := m.Last.Millis() - min(m.Last.Millis(), uint64(s.opts.RetainTime.Milliseconds()))
	keeps := func(h oplog.HLC) bool { return m.Ops <= uint64(s.opts.RetainOps) && h.Millis() >= cutoff }
	if m.Oldest != (oplog.HLC{}) && keeps(m.Oldest) {
		return
	}
	m.Oldest = oplog.HLC{}
	left := trimBatch
	for k, v := range t.scanFrom(tLog, 0, be64(uint64(m.First))) {
		at := oplog.Index(beUint64(k))
		m.First = at
		if left--; left < 0 || at == m.Index {
			break
		}
		r := decode[extent](v)
		if keeps(r.HLC) {
			m.Oldest = r.HLC
			return
		}
		m.Ops -= min(m.Ops, uint64(r.Ops))
		m.First = at + 1
		m.Trimmed = r.last()
		t.unset(tLog, 0, k)
	}
}

// cutLog empties the window: it begins again after the current record.
func (t *txn) cutLog(m *position) {
	all := prefixSpan(tLog, 0, nil)
	if err := t.b.DeleteRange(all.lower, all.upper); err != nil {
		failDisk(tLog, 0, err)
	}
	m.First, m.Oldest, m.Trimmed = m.Index+1, oplog.HLC{}, m.Last
}

// windowStart returns the first record that the window can have: the later of what the state keeps and the log has.
func (v *View) windowStart() oplog.Index {
	if v.start == 0 {
		log := v.position().Index + 1
		if r := v.state.opts.Records; r != nil {
			if first := r.First(); first > 0 {
				log = first
			}
		}
		v.start = max(v.position().First, log, oplog.Index(v.state.unreadable.Load()), 1)
	}
	return v.start
}

// Trimmed returns the time of the newest entry that has left the window; ok is false if none has.
func (v *View) Trimmed() (h oplog.HLC, ok bool) {
	if k, val := first(v.scanBelow(tLog, 0, nil, be64(uint64(v.windowStart())))); k != nil { // of records whose bytes the log has lost
		return decode[extent](val).last(), true
	}
	h = v.position().Trimmed
	return h, h != oplog.HLC{}
}

// TimeAt returns the time of the newest entry at or before an index. Two histories of a log differ in it.
func (v *View) TimeAt(index oplog.Index) oplog.HLC {
	if k, val := first(v.scanBelow(tLog, 0, nil, be64(uint64(index)+1))); k != nil {
		return decode[extent](val).last()
	}
	return v.position().Trimmed
}

// Retained returns the part of the log that can be read: the first and last index, and the time of the first record.
// ok is false if it is empty.
func (v *View) Retained() (begins, last oplog.Index, since oplog.HLC, ok bool) {
	newest, _ := first(v.scanBack(tLog, 0, nil))
	last = oplog.Index(beUint64(newest))
	if k, val := first(v.scanFrom(tLog, 0, be64(uint64(v.windowStart())))); k != nil {
		return v.windowStart(), last, decode[extent](val).HLC, true
	}
	return 0, last, since, false
}

// LogStart returns the first record of a database's log: after the records that left the window, and after the last
// purge of the database.
func (v *View) LogStart(db oplog.DB) oplog.Index {
	d, _ := v.Database(db)
	return max(v.windowStart(), d.Purged+1)
}

// TrimmedIn returns the time of the newest entry before LogStart; ok is false if there is none.
func (v *View) TrimmedIn(db oplog.DB) (h oplog.HLC, ok bool) {
	if d, _ := v.Database(db); d.Purged >= v.windowStart() {
		if row := v.get(tLog, 0, be64(uint64(d.Purged))); row != nil {
			return decode[extent](row).last(), true
		}
	}
	return v.Trimmed()
}

// records walks the retained records from an index on, with their bytes and entries. ErrTrimmed says that the log has
// lost one meanwhile; the window of the next view begins later. It opens the log only if there is a record to read,
// because the log may not be open yet.
func (v *View) records(from oplog.Index, f func(_ oplog.Index, _ *logRow, data []byte, bodies [][]byte) (more bool, err error)) error {
	var log RecordReader
	for k, val := range v.scanFrom(tLog, 0, be64(uint64(max(from, v.position().First)))) {
		at := oplog.Index(beUint64(k))
		if at < v.windowStart() {
			continue
		}
		if log == nil {
			log = v.state.opts.Records.Reader() // not nil: without Records the window is empty
			defer log.Close()
		}
		r := decode[logRow](val)
		data, err := log.Read(at)
		var bodies [][]byte
		if err == nil {
			_, bodies, err = oplog.DecodeRecord(data)
			if err != nil || oplog.SumOf(bodies) != r.Check {
				err = ErrTrimmed
			}
		}
		if errors.Is(err, ErrTrimmed) {
			v.state.setUnreadable(at + 1)
		}
		if err != nil {
			return err
		}
		if more, err := f(at, &r, data, bodies); err != nil || !more {
			return err
		}
	}
	return nil
}

// setUnreadable makes the window begin at next: the log has lost the record before, or it has another one there.
func (s *State) setUnreadable(next oplog.Index) {
	for was := s.unreadable.Load(); was < uint64(next) && !s.unreadable.CompareAndSwap(was, uint64(next)); was = s.unreadable.Load() {
	}
}

// Log walks the applied entries in order, beginning at an index, until f returns false. It leaves out entries and
// operations that did nothing, and entries of a database from before its last purge. The results have only Rows, all
// of them in the first.
func (v *View) Log(from oplog.Index, f func(oplog.Outcome) bool) error {
	begins := map[oplog.DB]oplog.Index{}
	return v.records(from, func(at oplog.Index, r *logRow, _ []byte, bodies [][]byte) (more bool, err error) {
		for i, b := range bodies {
			n := r.noteOf(i)
			if _, erased := oplog.Erased(b); n.Void || erased {
				continue
			}
			e, err := oplog.DecodeEntry(b)
			if err != nil {
				return false, fmt.Errorf("log record %d entry %d: %w", at, i, err)
			}
			first, asked := begins[e.DB]
			if !asked {
				first = v.LogStart(e.DB)
				begins[e.DB] = first
			}
			if at < first {
				continue
			}
			if !f(n.outcome(at, r.HLC, e)) {
				return false, nil
			}
		}
		return true, nil
	})
}

// outcome builds the outcome of an entry from its note.
func (n note) outcome(at oplog.Index, record oplog.HLC, e oplog.Entry) oplog.Outcome {
	e.Ops = oplog.Without(e.Ops, n.Idle)
	o := oplog.Outcome{Index: at, Number: n.Entry, HLC: record.Add(uint32(n.Entry)), Entry: &e, Results: make([]oplog.Result, len(e.Ops))}
	for j := range o.Results {
		o.Results[j].Changed = true
	}
	if len(o.Results) > 0 {
		o.Results[0].Rows = n.Rows
	}
	return o
}

// SeekHLC finds the index of the first retained record that has an entry at or after h. It is a binary search,
// because times grow along the log. The operations of one entry share its time, so a cursor may be in the middle of
// one.
func (v *View) SeekHLC(h oplog.HLC) oplog.Index {
	begins, last, _, ok := v.Retained()
	if !ok {
		return 0
	}
	lo, hi := begins, last+1 // the answer is in [lo, hi]
	for lo < hi {
		mid := lo + (hi-lo)/2
		if k, val := first(v.scanFrom(tLog, 0, be64(uint64(mid)))); k != nil && decode[extent](val).last().Less(h) {
			lo = oplog.Index(beUint64(k)) + 1
		} else {
			hi = mid
		}
	}
	return lo
}
