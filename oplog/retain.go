package oplog

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// retained is a record as the log window keeps it.
type retained struct {
	HLC  HLC    `msgpack:"h"` // after the clock rule, so later than all before it
	Ops  int    `msgpack:"n"`
	Void []int  `msgpack:"v,omitempty"` // entries that did nothing: refused, replayed, or all they were to forget was not there
	Data []byte `msgpack:"d"`

	Idle map[int][]int    `msgpack:"i,omitempty"` // by entry: places of operations that did nothing
	Rows map[int][]string `msgpack:"r,omitempty"` // by entry: memories it touched that its operations do not name
}

// note keeps what became of an entry.
func (r *retained) note(entry int, o *Outcome) {
	if len(o.Done()) == 0 && len(o.Entry.Ops) > 0 {
		r.Void = append(r.Void, entry)
		return
	}
	if idle := o.idle(); idle != nil {
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
func rowsOf(results []Result) (rows []string) {
	for _, r := range results {
		rows = append(rows, r.Rows...)
	}
	return rows
}

// EncodeMsgpack writes an HLC as 16 bytes.
func (h HLC) EncodeMsgpack(e *msgpack.Encoder) error { return e.EncodeBytes(h[:]) }

// DecodeMsgpack reads 16 bytes.
func (h *HLC) DecodeMsgpack(d *msgpack.Decoder) error {
	b, err := d.DecodeBytes()
	if err != nil {
		return err
	}
	if len(b) != len(h) {
		return fmt.Errorf("%w: hlc of %d bytes", ErrState, len(b))
	}
	copy(h[:], b)
	return nil
}

// trimBatch bounds what one Apply drops: more than it adds, so the window shrinks to its size in the end.
const trimBatch = 64

func (s *State) trim(t *txn, m *mark) error {
	log := t.log()
	c := log.Cursor()
	cutoff := m.last.Millis() - min(m.last.Millis(), uint64(s.opts.RetainTime.Milliseconds()))
	for range trimBatch {
		k, v := c.First()
		if k == nil || Index(beUint64(k)) == m.index {
			return nil
		}
		r := decode[retained](v)
		if m.ops <= uint64(s.opts.RetainOps) && r.HLC.Millis() >= cutoff {
			return nil
		}
		m.ops -= min(m.ops, uint64(r.Ops))
		if err := log.Delete(k); err != nil {
			return err
		}
		last := r.HLC.Add(uint32(max(entries(r.Data), 1) - 1))
		if err := t.meta().Put(keyTrimmed, last[:]); err != nil {
			return err
		}
	}
	return nil
}

// cutLog drops the window: it begins anew behind the entry at a time. A log of a million records is dropped in half a second.
func (t *txn) cutLog(last HLC) {
	id := bucketID{table: tLog}
	t.log() // what is known of the way to it is looked at
	delete(t.buckets, id)
	err := t.tx.DeleteBucket(bktLog)
	if err == nil {
		_, err = t.tx.CreateBucket(bktLog)
	}
	if err == nil {
		err = t.meta().Put(keyTrimmed, last[:])
	}
	if err != nil {
		panic(diskError{fmt.Errorf("cut log: %w", err)})
	}
}

func entries(record []byte) int {
	_, bodies, err := DecodeRecord(record)
	if err != nil {
		return 0
	}
	return len(bodies)
}

// Trimmed is the time of the newest entry that has left the window; ok is false while none has.
func (v *View) Trimmed() (h HLC, ok bool) {
	b := v.meta().Get(keyTrimmed)
	ok = copy(h[:], b) == len(h)
	return h, ok
}

// Retained says which part of the log the state still holds: the indexes of the first and the last record,
// and the time of the first. ok is false when it holds none.
func (v *View) Retained() (first, last Index, since HLC, ok bool) {
	c := v.log().Cursor()
	k, val := c.First()
	if k == nil {
		return 0, 0, since, false
	}
	first, since = Index(beUint64(k)), decode[retained](val).HLC
	k, _ = c.Last()
	return first, Index(beUint64(k)), since, true
}

// Log walks the applied entries from the record at or after an index, in order, until f says stop.
// Entries and operations that did nothing are left out. Of the results, only Rows are kept, all with the first.
func (v *View) Log(from Index, f func(Outcome) bool) error {
	c := v.log().Cursor()
	for k, val := c.Seek(be64(uint64(from))); k != nil; k, val = c.Next() {
		r := decode[retained](val)
		_, bodies, err := DecodeRecord(r.Data)
		if err != nil {
			return fmt.Errorf("log record %d: %w", beUint64(k), err)
		}
		void := map[int]bool{}
		for _, i := range r.Void {
			void[i] = true
		}
		for i, b := range bodies {
			if void[i] {
				continue
			}
			e, err := DecodeEntry(b)
			if err != nil {
				return fmt.Errorf("log record %d entry %d: %w", beUint64(k), i, err)
			}
			o := Outcome{Index: Index(beUint64(k)), Number: i, HLC: r.HLC.Add(uint32(i)), Entry: &e}
			e.Ops = without(e.Ops, r.Idle[i])
			o.Results = make([]Result, len(e.Ops))
			for j := range o.Results {
				o.Results[j].Changed = true
			}
			if len(o.Results) > 0 {
				o.Results[0].Rows = r.Rows[i]
			}
			if !f(o) {
				return nil
			}
		}
	}
	return nil
}

// SeekHLC finds the index of the first retained record that has an entry at h or after it, by halving: times grow
// along the log. The operations of one entry share its time, so a cursor may stand in the middle of one.
func (v *View) SeekHLC(h HLC) Index {
	first, last, _, ok := v.Retained()
	if !ok {
		return 0
	}
	log := v.log()
	lo, hi := first, last+1 // the answer is in [lo, hi]
	for lo < hi {
		mid := lo + (hi-lo)/2
		k, val := log.Cursor().Seek(be64(uint64(mid)))
		if k == nil {
			hi = mid
			continue
		}
		r := decode[retained](val)
		_, bodies, err := DecodeRecord(r.Data)
		if err != nil || !r.HLC.Add(uint32(max(len(bodies), 1)-1)).Less(h) {
			hi = mid
		} else {
			lo = Index(beUint64(k)) + 1
		}
	}
	return lo
}
