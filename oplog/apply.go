package oplog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
)

// A Record is one committed Raft log record. Data is empty for the log's own bookkeeping, which only moves the index.
type Record struct {
	Index, Term Index
	Data        []byte
}

// An Outcome is what became of one entry.
type Outcome struct {
	Index    Index
	Number   int // place of the entry in its record
	HLC      HLC
	Entry    *Entry
	Results  []Result // one an operation; nil when refused
	Err      *Error   // the refusal
	Replayed bool     // the idempotency key was known: Results are those of the first time, nothing was done now
}

// idle are the places of operations that did nothing: what they were to forget was not there, or what they were to store was.
func (o *Outcome) idle() (places []int) {
	for i, op := range o.Entry.Ops {
		switch op.(type) {
		case *Forget, *Remember:
			if !o.Results[i].Changed {
				places = append(places, i)
			}
		}
	}
	return places
}

// Done are the operations that did something, as the log's window keeps them: none of an entry that was refused or replayed.
func (o *Outcome) Done() []Op {
	if o.Err != nil || o.Replayed {
		return nil
	}
	return without(o.Entry.Ops, o.idle())
}

// without is a list without some of its places, which are in order.
func without[T any](list []T, places []int) []T {
	if len(places) == 0 {
		return list
	}
	kept := make([]T, 0, len(list)-len(places))
	for i, v := range list {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
			continue
		}
		kept = append(kept, v)
	}
	return kept
}

// Apply advances the state by a batch of committed records, in order, in one batch of the store. Records the
// state already holds are passed over, and those since the last flush before a crash are applied again. It is a function of the state and the records alone; an error means
// that nothing of the batch was applied and the node must stop: its disk is broken or a record is from a newer version. A disk
// without room is an error as well, and the same batch may be tried again.
func (s *State) Apply(batch []Record) (out []Outcome, err error) { return s.apply(batch, false) }

// apply is Apply, or, when it is a trial, ends before the commit with errTried.
func (s *State) apply(batch []Record, trial bool) (out []Outcome, err error) {
	g, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer g.release()
	next, doing := s.mark(), "" // the entry under way
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, metIn(doing, p)
		}
	}()
	b := g.Batch()
	defer b.Close()
	t := newTxn(b)
	t.b, t.sum, t.expiry = b, next.sum, maps.Clone(s.expiry)
	stats := map[DB]*Stats{}
	for _, r := range batch {
		if r.Index <= next.index {
			continue
		}
		if s.skips(r) {
			next.index, next.term = r.Index, r.Term
			t.skip(r, &next)
			continue
		}
		o, err := s.applyRecord(t, stats, r, &next, &doing)
		if err != nil {
			return nil, err
		}
		out = append(out, o...)
	}
	for _, db := range sortedKeys(stats) {
		if t.get(tDatabase, 0, be64(uint64(db))) != nil {
			write(t, tStats, db, nil2key, stats[db])
			t.putNamed(db)
		}
	}
	s.trim(t, &next)
	if trial {
		return nil, errTried
	}
	next.sum = t.sum
	t.putMark(next)
	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("apply: commit: %w", damage(err))
	}
	s.expiry = t.expiry
	s.at.Lock()
	s.m = next
	s.at.Unlock()
	return out, nil
}

var nil2key = []byte("counters")

func (s *State) applyRecord(t *txn, stats map[DB]*Stats, r Record, next *mark, doing *string) ([]Outcome, error) {
	next.index, next.term = r.Index, r.Term
	if len(r.Data) == 0 {
		return nil, nil
	}
	h, bodies, err := DecodeRecord(r.Data)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", r.Index, err)
	}
	// Invariant: entry times grow along the log, whatever a leader's clock said.
	if !next.last.Less(h) {
		l := next.last.Add(1)
		h = MakeHLC(l.Millis(), l.Logical(), h.Node())
	}
	out := make([]Outcome, len(bodies))
	kept := retained{HLC: h, Data: r.Data}
	for i, body := range bodies {
		e, err := DecodeEntry(body)
		if err != nil {
			return nil, fmt.Errorf("record %d entry %d: %w", r.Index, i, err)
		}
		o := &out[i]
		o.Index, o.Number, o.HLC, o.Entry = r.Index, i, h.Add(uint32(i)), &e
		*doing = fmt.Sprintf("record %d entry %d", r.Index, i)
		t.applyEntry(stats, o)
		*doing = ""
		next.last = o.HLC
		kept.note(i, o)
		kept.Ops += len(e.Ops)
	}
	if t.cut {
		t.cut, next.ops = false, 0
		t.cutLog(next)
		return out, nil
	}
	next.ops += uint64(kept.Ops)
	t.set(tLog, 0, be64(uint64(r.Index)), encode(&kept))
	return out, nil
}

// applying is what an operation sees: the state, the entry's database and time, its counters.
type applying struct {
	*txn
	db    DB
	hlc   HLC
	stats *Stats
	index Index
	alone bool // the entry has no other operation that changes anything

	key      string // idempotency key of the entry
	detached bool   // memories made now join no session of their own accord
	keys     int    // that the entry added
	named    named
}

func (t *txn) applyEntry(stats map[DB]*Stats, o *Outcome) {
	e := o.Entry
	t.need(e)
	if o.Err = t.admit(e); o.Err != nil {
		return
	}
	st, ok := stats[e.DB]
	if !ok {
		v, _ := read[Stats](t, tStats, e.DB, nil2key)
		st = &v
		stats[e.DB] = st
	}
	before := *st
	a := &applying{txn: t, db: e.DB, hlc: o.HLC, index: o.Index, stats: st, alone: changes(e.Ops) == 1, key: e.Key}
	t.undo = t.undo[:0]
	if o.Replayed, o.Results, o.Err = a.replay(e); o.Replayed || o.Err != nil {
		return
	}
	if o.Results, o.Err = a.perform(e); o.Err != nil {
		t.rollback()
		*st = before
		return
	}
	if e.DB != 0 {
		for _, op := range e.Ops {
			switch op.Kind() {
			case KindReinforce, KindAudit, KindStated, KindLinked, KindHandOn: // they are no client's
			default:
				st.Operations++
			}
		}
	}
	a.keepNamed()
}

// admit refuses an entry before it writes anything: dropping a database cannot be undone, and counters of a database that is
// not there would be kept or not by whether the batch makes one of its number.
func (t *txn) admit(e *Entry) *Error {
	if len(e.Key) > maxEntryKey {
		return Errorf(Invalid, "idempotency key of %d bytes is over %d", len(e.Key), maxEntryKey)
	}
	if e.DB != 0 && t.get(tDatabase, 0, be64(uint64(e.DB))) == nil {
		return ErrNoDatabase
	}
	return nil
}

// perform applies the operations of an entry and keeps its key. A key that no table can hold ends in txn.put, wherever an
// operation made it, and refuses the entry.
func (a *applying) perform(e *Entry) (results []Result, err *Error) {
	defer func() {
		if p := recover(); p != nil {
			r, ok := p.(unstorable)
			if !ok {
				panic(p)
			}
			results, err = nil, r.refusal
		}
	}()
	results = make([]Result, len(e.Ops))
	for i, op := range e.Ops {
		if results[i], err = op.apply(a); err != nil {
			return nil, err
		}
	}
	a.keep(e, results)
	a.expireKeys()
	return results, nil
}

// changes counts the operations of an entry that are more than a word about the others.
func changes(ops []Op) (n int) {
	for _, op := range ops {
		if op.Kind() != KindAudit {
			n++
		}
	}
	return n
}

// database is the entry's database, or the refusal when there is none.
func (a *applying) database() (Database, *Error) {
	d, ok := read[Database](a.txn, tDatabase, 0, be64(uint64(a.db)))
	if !ok {
		return d, ErrNoDatabase
	}
	return d, nil
}

func (a *applying) setDatabase(d Database) { write(a.txn, tDatabase, 0, be64(uint64(d.ID)), &d) }

// liveMemory is a memory that has not been forgotten.
func (a *applying) liveMemory(rid string) (*Memory, *Error) {
	m, ok := memoryByRID(a.txn, a.db, rid)
	if !ok || m.Status == Tombstoned {
		return nil, ErrNoMemory
	}
	return m, nil
}

func memoryByRID(t *txn, db DB, rid string) (*Memory, bool) {
	if rid == "" {
		return nil, false
	}
	seq := t.get(tRID, db, []byte(rid))
	if seq == nil {
		return nil, false
	}
	m, ok := read[Memory](t, tMemory, db, bytes.Clone(seq))
	return &m, ok
}

func (a *applying) putMemory(m *Memory) { write(a.txn, tMemory, a.db, seqKey(m.Seq), m) }

func (a *applying) putRevision(m *Memory, reason string, at Time) {
	key := binary.BigEndian.AppendUint32(seqKey(m.Seq), m.Revision)
	write(a.txn, tRevision, a.db, key, &Revision{Number: m.Revision, Text: m.Text, Importance: m.Importance,
		Valence: m.Valence, Certainty: m.Certainty, Metadata: m.Metadata, From: m.since(), Reason: reason, Until: at})
	a.put(tPast, a.db, timeKey(at, m.Seq), nil)
}

// countStatus counts a memory in, or out before it changes.
func (a *applying) countStatus(m *Memory, by int64) {
	n := map[Status]*uint64{Active: &a.stats.Active, Consolidated: &a.stats.Consolidated, Tombstoned: &a.stats.Tombstoned}[m.Status]
	*n = uint64(int64(*n) + by)
	a.countNamed(m, by)
}
