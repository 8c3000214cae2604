package state

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// extent is when a record was and how much of the window it is.
type extent struct {
	HLC     oplog.HLC `msgpack:"h"` // after the clock rule, so later than all before it
	Entries int       `msgpack:"e"`
	Ops     int       `msgpack:"n"` // of all entries
}

// last is the time of the record's last entry.
func (e extent) last() oplog.HLC { return e.HLC.Add(uint32(max(e.Entries, 1) - 1)) }

// retained is the row of a record in the log's window: what only the state knows. The record's bytes are read from Records.
type retained struct {
	extent `msgpack:",inline"`
	Check  uint32 `msgpack:"c"`           // CRC-32C of the record that was applied
	Void   []int  `msgpack:"v,omitempty"` // entries that did nothing: refused, replayed, or all they were to forget was not there

	Idle map[int][]int    `msgpack:"i,omitempty"` // by entry: places of operations that did nothing
	Rows map[int][]string `msgpack:"r,omitempty"` // by entry: memories it touched that its operations do not name
}

// note stores what became of an entry.
func (r *retained) note(entry int, o *oplog.Outcome) {
	if len(o.Done()) == 0 && len(o.Entry.Ops) > 0 {
		r.Void = append(r.Void, entry)
		return
	}
	if idle := o.Idle(); idle != nil {
		if r.Idle == nil {
			r.Idle = map[int][]int{}
		}
		r.Idle[entry] = idle
	}
	if rows := rowsOf(o.Results); rows != nil {
		if r.Rows == nil {
			r.Rows = map[int][]string{}
		}
		r.Rows[entry] = rows
	}
}

// rowsOf gathers what an entry's results say of memories.
func rowsOf(results []oplog.Result) (rows []string) {
	for _, r := range results {
		rows = append(rows, r.Rows...)
	}
	return rows
}

// trimBatch bounds what one Apply drops: more than it adds, so the window shrinks to its size in the end.
const trimBatch = 64

// oldest is what is known of the record with which the window begins: it is read once, and not by every Apply. It is of no other
// record than the one at mark.first.
type oldest struct {
	at  oplog.Index // 0 when nothing is known
	hlc oplog.HLC
}

// trim drops the records that are too many or too old, and says what is the oldest now.
func (s *State) trim(t *txn, m *mark) oldest {
	cutoff := m.last.Millis() - min(m.last.Millis(), uint64(s.opts.RetainTime.Milliseconds()))
	keeps := func(h oplog.HLC) bool { return m.ops <= uint64(s.opts.RetainOps) && h.Millis() >= cutoff }
	if s.oldest.at > 0 && s.oldest.at == m.first && keeps(s.oldest.hlc) {
		return s.oldest
	}
	left := trimBatch
	for k, v := range t.scanFrom(tLog, 0, be64(uint64(m.first))) {
		at := oplog.Index(beUint64(k))
		m.first = at
		if left--; left < 0 || at == m.index {
			break
		}
		r := decode[extent](v)
		if keeps(r.HLC) {
			return oldest{at, r.HLC}
		}
		m.ops -= min(m.ops, uint64(r.Ops))
		m.first = at + 1
		t.unset(tLog, 0, k)
		last := r.last()
		t.set(tMeta, 0, keyTrimmed, last[:])
	}
	return oldest{}
}

// cutLog drops the window: it begins anew behind the record under way.
func (t *txn) cutLog(m *mark) {
	all := under(tLog, 0, nil)
	if err := t.b.DeleteRange(all.lower, all.upper); err != nil {
		failDisk(tLog, 0, err)
	}
	m.first = m.index + 1
	t.set(tMeta, 0, keyTrimmed, m.last[:])
}

// begins is the first record that the window can have: no earlier one than the state wants, nor than the log has.
func (v *View) begins() oplog.Index {
	if v.first == 0 {
		log := v.mark().index + 1
		if r := v.state.opts.Records; r != nil {
			if first := r.First(); first > 0 {
				log = first
			}
		}
		v.first = max(v.mark().first, log, oplog.Index(v.state.unreadable.Load()), 1)
	}
	return v.first
}

// Trimmed is the time of the newest entry that has left the window; ok is false while none has.
func (v *View) Trimmed() (h oplog.HLC, ok bool) {
	if k, val := first(v.scanBelow(tLog, 0, nil, be64(uint64(v.begins())))); k != nil { // of those whose bytes the log has no more
		return decode[extent](val).last(), true
	}
	ok = copy(h[:], v.get(tMeta, 0, keyTrimmed)) == len(h)
	return h, ok
}

// Retained says which part of the log can be read: its first record's index, the last one's, and the time of the first. ok is false
// when there is none.
func (v *View) Retained() (begins, last oplog.Index, since oplog.HLC, ok bool) {
	newest, _ := first(v.scanBack(tLog, 0, nil))
	last = oplog.Index(beUint64(newest))
	if k, val := first(v.scanFrom(tLog, 0, be64(uint64(v.begins())))); k != nil {
		return v.begins(), last, decode[extent](val).HLC, true
	}
	return 0, last, since, false
}

// records walks the retained records, with their bytes, from an index on. ErrTrimmed says that the log lost one meanwhile: in another view
// the window begins later. Where there is none it does not ask the log, which may not be open yet.
func (v *View) records(from oplog.Index, f func(oplog.Index, *retained, []byte) (more bool, err error)) error {
	var log RecordReader
	for k, val := range v.scanFrom(tLog, 0, be64(uint64(max(from, v.mark().first)))) {
		at := oplog.Index(beUint64(k))
		if at < v.begins() {
			continue
		}
		if log == nil {
			log = v.state.opts.Records.Reader() // without it, the window begins behind all rows
			defer log.Close()
		}
		r := decode[retained](val)
		data, err := log.Read(at)
		if err == nil && checkOf(data) != r.Check {
			err = ErrTrimmed
		}
		if errors.Is(err, ErrTrimmed) {
			v.state.loseBefore(at + 1)
		}
		if err != nil {
			return err
		}
		if more, err := f(at, &r, data); err != nil || !more {
			return err
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkOf is the checksum of a record's bytes in the window.
func checkOf(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// loseBefore ends the window behind a record that the log has lost, or that is not the one that was applied.
func (s *State) loseBefore(next oplog.Index) {
	for was := s.unreadable.Load(); was < uint64(next) && !s.unreadable.CompareAndSwap(was, uint64(next)); was = s.unreadable.Load() {
	}
}

// Log walks the applied entries from the record at or after an index, in order, until f says stop.
// Entries and operations that did nothing are left out. Of the results, only Rows are kept, all with the first.
func (v *View) Log(from oplog.Index, f func(oplog.Outcome) bool) error {
	return v.records(from, func(at oplog.Index, r *retained, data []byte) (more bool, err error) {
		_, bodies, err := oplog.DecodeRecord(data)
		if err != nil {
			return false, fmt.Errorf("log record %d: %w", at, err)
		}
		for i, b := range bodies {
			if slices.Contains(r.Void, i) {
				continue
			}
			e, err := oplog.DecodeEntry(b)
			if err != nil {
				return false, fmt.Errorf("log record %d entry %d: %w", at, i, err)
			}
			if !f(r.outcome(at, i, e)) {
				return false, nil
			}
		}
		return true, nil
	})
}

// outcome is what became of an entry of the record, as far as the window has it.
func (r *retained) outcome(at oplog.Index, i int, e oplog.Entry) oplog.Outcome {
	e.Ops = oplog.Without(e.Ops, r.Idle[i])
	o := oplog.Outcome{Index: at, Number: i, HLC: r.HLC.Add(uint32(i)), Entry: &e, Results: make([]oplog.Result, len(e.Ops))}
	for j := range o.Results {
		o.Results[j].Changed = true
	}
	if len(o.Results) > 0 {
		o.Results[0].Rows = r.Rows[i]
	}
	return o
}

// SeekHLC finds the index of the first retained record that has an entry at h or after it, by halving: times grow
// along the log. The operations of one entry share its time, so a cursor may be in the middle of one.
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
