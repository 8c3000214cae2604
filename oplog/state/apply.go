package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// Apply applies committed records in order, in one batch of the store. It skips records that the state already holds;
// after a crash, those since the last flush are applied again. The result depends on the state and the records alone.
// After an error nothing of the batch is applied, and the node must stop: its disk is broken, or a record is from a
// newer version. A full disk is an error too; the same batch may then be tried again.
func (s *State) Apply(batch []oplog.Record) (out []oplog.Outcome, err error) {
	return s.apply(batch, nil, false)
}

// apply is Apply. A trial ends before the commit with errTrial. If erased is not nil, apply skips entries that were
// erased from their records, and sets erased[db] to the first record that lacks entries of db.
func (s *State) apply(batch []oplog.Record, erased map[oplog.DB]oplog.Index, trial bool) (out []oplog.Outcome, err error) {
	err = s.change(func(t *txn, next *position) (err error) {
		var doing *oplog.Outcome // the entry that is being applied
		defer func() {
			if p := recover(); p != nil {
				err = faultOf(doing, p)
			}
		}()
		t.erased = erased
		records := t.prepare(batch, next.Index, s.skips)
		for i, r := range batch {
			if r.Index <= next.Index {
				continue
			}
			if s.skips(r) {
				next.Index, next.Term = r.Index, r.Term
				t.skip(r, next)
				continue
			}
			o, err := t.applyRecord(r, &records[i], next, &doing)
			if err != nil {
				return err
			}
			out = append(out, o...)
		}
		t.writeCounts(func(db oplog.DB) bool { return t.databaseRow(db) != nil })
		s.trim(t, next)
		if trial {
			return errTrial
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// change runs f on one batch of the store and commits it. If f fails, nothing is written.
func (s *State) change(f func(t *txn, next *position) error) (err error) {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer g.unpin()
	next := s.position()
	defer func() {
		if p := recover(); p != nil {
			err = damageOf(p)
		}
		if err != nil {
			s.cache.clear() // it may hold answers that were not committed
		}
	}()
	b := g.Batch()
	defer b.Close()
	t := newTxn(b)
	t.b, t.tally, t.stateExpiry, t.expiry, t.cache = b, s.tally.reset(next.Sum), s.expiry, map[oplog.DB]uint64{}, s.cache
	t.counters, t.namespaces = map[oplog.DB]*oplog.Stats{}, map[namespaceID]oplog.Counts{}
	if err := f(t, &next); err != nil {
		return err
	}
	next.Sum = t.tally.flush()
	t.putPosition(next)
	if err := b.Commit(); err != nil {
		return fmt.Errorf("apply: commit: %w", stateError(err))
	}
	for db, from := range t.expiry {
		if s.expiry[db] = from; from == 0 {
			delete(s.expiry, db)
		}
	}
	s.advance(next, t)
	return nil
}

var statsKey = []byte("counters")

func (t *txn) applyRecord(r oplog.Record, p *preparedRecord, next *position, doing **oplog.Outcome) ([]oplog.Outcome, error) {
	next.Index, next.Term = r.Index, r.Term
	if len(r.Data) == 0 {
		return nil, nil
	}
	if p.err != nil {
		return nil, fmt.Errorf("record %d: %w", r.Index, p.err)
	}
	h, bodies := p.hlc, p.bodies
	// Invariant: entry times grow along the log, whatever a leader's clock said.
	if !next.Last.Less(h) {
		l := next.Last.Add(1)
		h = oplog.MakeHLC(l.Millis(), l.Logical(), h.Node())
	}
	out := make([]oplog.Outcome, len(bodies))
	kept := logRow{extent: extent{HLC: h, Entries: len(bodies)}, Check: oplog.SumOf(bodies)}
	for i, body := range bodies {
		if db, gone := oplog.Erased(body); gone && t.erased != nil {
			if _, known := t.erased[db]; !known {
				t.erased[db] = r.Index
			}
			next.Last = h.Add(uint32(i))
			continue
		}
		e := p.entries[i]
		if e == nil {
			read, err := oplog.DecodeEntry(body)
			if err != nil {
				return nil, fmt.Errorf("record %d entry %d: %w", r.Index, i, err)
			}
			e = &read
		}
		o := &out[i]
		o.Index, o.Number, o.HLC, o.Entry = r.Index, i, h.Add(uint32(i)), e
		*doing = o
		t.applyEntry(o)
		*doing = nil
		next.Last = o.HLC
		kept.add(o)
		kept.Ops += len(e.Ops)
	}
	next.Ops += uint64(kept.Ops)
	t.set(tLog, 0, be64(uint64(r.Index)), t.encode(&kept))
	return out, nil
}

// entryTxn is the transaction of one entry: the batch's rows, the entry's database and time, and its counters.
type entryTxn struct {
	*txn
	db         oplog.DB
	hlc        oplog.HLC
	stats      *oplog.Stats
	index      oplog.Index
	onlyChange bool // the entry has only one operation that changes something

	key         string                  // idempotency key of the entry
	detached    bool                    // new memories do not join the active session
	addedKeys   int                     // idempotency keys that the entry has added
	stored      oplog.Stored            // by the current operation
	alsoChanged []string                // memories that the current operation changed and does not name
	unused      []string                // idempotency keys that were looked up and not found
	counted     map[string]oplog.Counts // by namespace, what the entry changes
}

func (t *txn) applyEntry(o *oplog.Outcome) {
	e := o.Entry
	t.noteKinds(e)
	if o.Err = t.admit(e); o.Err != nil {
		return
	}
	st, ok := t.counters[e.DB]
	if !ok {
		v := load[oplog.Stats](t, tStats, e.DB, statsKey)
		st = &v
		t.counters[e.DB] = st
	}
	before := *st
	a := &entryTxn{txn: t, db: e.DB, hlc: o.HLC, index: o.Index, stats: st, onlyChange: changes(e.Ops) == 1, key: e.Key,
		counted: map[string]oplog.Counts{}}
	t.undo = t.undo[:0]
	if o.Err = a.perform(e, o); o.Err != nil {
		o.Results, o.Stored = nil, nil
		t.rollback()
		*st = before
		a.unused = nil
		a.storeRejection(e, o.Err)
		return
	}
	if e.DB != 0 && !o.Replayed {
		for _, op := range e.Ops {
			switch op.(type) {
			case *oplog.Reinforce, *oplog.Audit, *oplog.Stated, *oplog.Linked, *oplog.HandOn, *oplog.Supersede, *oplog.Expect, *oplog.Keyed: // they change nothing for a client
			default:
				st.Operations++
			}
		}
	}
	a.addCounts()
}

// admit rejects an entry whose key is too long or whose database does not exist, before the entry writes anything.
// The counters of a missing database would otherwise be stored only if another record of the batch creates that
// database, so states would differ.
func (t *txn) admit(e *oplog.Entry) *oplog.Error {
	if len(e.Key) > maxEntryKey {
		return oplog.Errorf(oplog.Invalid, "idempotency key of %d bytes is over %d", len(e.Key), maxEntryKey)
	}
	if e.DB != 0 && t.databaseRow(e.DB) == nil {
		return oplog.ErrNoDatabase
	}
	return nil
}

// perform applies the operations of an entry and stores its idempotency key. If the key is known, it returns the
// first results and applies nothing.
func (a *entryTxn) perform(e *oplog.Entry, o *oplog.Outcome) (err *oplog.Error) {
	defer func() {
		if p := recover(); p != nil {
			r, ok := p.(rejection)
			if !ok {
				panic(p)
			}
			err = r.err
		}
	}()
	if o.Results, o.Replayed = a.lookupKey(e.Key, e.Digest); o.Replayed {
		return nil
	}
	o.Results = make([]oplog.Result, len(e.Ops))
	for i, op := range e.Ops {
		a.stored = oplog.Stored{}
		o.Results[i] = applyOp(a, op)
		o.Results[i].Rows, a.alsoChanged = append(o.Results[i].Rows, a.alsoChanged...), nil
		if _, ok := op.(*oplog.Remember); ok { // other operations change their memories further
			if o.Stored == nil {
				o.Stored = make([]oplog.Stored, len(e.Ops))
			}
			o.Stored[i] = a.stored
		}
	}
	a.storeKey(e.Key, e.Digest, e.KeyTTL, o.Results)
	a.expireKeys()
	return nil
}

// changes counts the operations of an entry that are not audits of the others.
func changes(ops []oplog.Op) (n int) {
	for _, op := range ops {
		if _, audit := op.(*oplog.Audit); !audit {
			n++
		}
	}
	return n
}
