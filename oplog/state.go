package oplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/cairndb/cairn/oplog/boltfile"
	"github.com/cairndb/cairn/oplog/seal"
)

// The formats of state files. A node refuses a file of a later one.
const (
	bareFormat   = 1 // values as they are; no new file is one
	sealedFormat = 2 // keys and values encrypted
	summedFormat = 3 // a sum behind each value

	sealedSummedFormat = 4 // keys and values encrypted, a sum for those that are empty

	newestFormat = sealedSummedFormat
)

// ErrState says that the state file does not hold what it should. Move it aside and rebuild from a peer.
var ErrState = &Error{Kind: Corrupt, Text: "unreadable state"}

// Options say how a node keeps its state. The zero value is right for production.
type Options struct {
	RetainOps  int           // operations kept in the log window; default 1,000,000
	RetainTime time.Duration // how long they are kept; default 7 days
	NoSync     bool          // for tests that measure something else: a crash of the machine loses the file
	Keys       *seal.Ring    // what the file is encrypted with; nil: it is not

	Skip map[Index]Digest // records that an operator has given up: they are passed over, and that is audited

	Sync func(func() error) error // calls what it is given, which syncs the file; a seam for faults
}

func (o Options) withDefaults() Options {
	if o.RetainOps == 0 {
		o.RetainOps = 1_000_000
	}
	if o.RetainTime == 0 {
		o.RetainTime = 7 * 24 * time.Hour
	}
	return o
}

// State is all that is replicated, in one file.
type State struct {
	path string
	opts Options

	mu   sync.RWMutex // held for writing only while Restore swaps the file
	db   *bolt.DB
	c    *codec // the file's
	ways *boltfile.Ways

	following sync.Mutex // held while ways learns of the last commit, beside who has its results

	at sync.Mutex // guards mark: Apply sets it, everybody reads it
	m  mark

	scrub   scrub
	noticed chan struct{} // by a reader, that something is not what was written

	d    *durable
	size int64 // of the file as of the last transaction; Apply's
	room int64 // how large it may become with checkpoints
}

// mark is how far the state has come. It is stored with the effects of the records it counts.
type mark struct {
	index, term Index
	last        HLC
	sum         Sum
	ops         uint64 // operations in the retained log
}

var (
	bktMeta = []byte("meta")
	bktLog  = []byte("log")
	keyMark = []byte("mark")
	keyFmt  = []byte("format")

	keyMarkSum = []byte("mark sum")
	keyTrimmed = []byte("trimmed")
)

// ErrHeld says that another process has the file open.
var ErrHeld = errors.New("held by another process")

// Open opens or creates the state file at path.
func Open(path string, o Options) (*State, error) {
	s := &State{path: path, opts: o.withDefaults(), noticed: make(chan struct{}, 1), d: newDurable()}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	f, err := openFile(path, s.opts)
	if err != nil {
		return nil, err
	}
	s.use(f)
	s.m = f.m
	if err := s.checkpoints(); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	go s.flusher() // ends with Close
	return s, nil
}

// openBolt opens the file; what bbolt panics about is an error like those it returns.
func openBolt(path string, o Options) (db *bolt.DB, room int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", berrors.ErrInvalid, p)
		}
	}()
	return boltfile.Open(path, bolt.Options{
		Timeout:        2 * time.Second, // another process holds the file: say so instead of waiting for ever
		NoSync:         o.NoSync,
		NoFreelistSync: true,
		FreelistType:   bolt.FreelistMapType,
	})
}

// opened is a state file that was found whole.
type opened struct {
	db   *bolt.DB
	room int64 // how large it may become with checkpoints
	c    *codec
	m    mark
	ways *boltfile.Ways
}

func (s *State) use(f opened) { s.db, s.room, s.c, s.ways = f.db, f.room, f.c, f.ways }

func openFile(path string, o Options) (f opened, err error) {
	err = boltfile.Rewind(path)
	if err == nil {
		err = boltfile.Prepare(path)
	}
	if errors.Is(err, boltfile.ErrDamaged) {
		return f, fmt.Errorf("%w: %s: %w", ErrState, path, err)
	} else if err != nil {
		return f, fmt.Errorf("state %s: %w", path, err)
	}
	f.db, f.room, err = openBolt(path, o)
	switch {
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return f, fmt.Errorf("%w: %s: %w", ErrState, path, err)
	case errors.Is(err, berrors.ErrTimeout):
		return f, fmt.Errorf("state %s: %w", path, ErrHeld)
	case err != nil: // no permission, no descriptor: nothing is wrong with the file
		return f, fmt.Errorf("state %s: %w", path, err)
	}
	err = caught(func() error {
		return f.db.Update(func(tx *bolt.Tx) (err error) {
			f.c, f.m, err = begin(tx, o)
			return err
		})
	})
	if err == nil {
		f.ways, err = boltfile.LearnWays(f.db)
	}
	if errors.Is(err, boltfile.ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrState, err)
	}
	if err != nil {
		f.db.Close()
		return f, fmt.Errorf("state %s: %w", path, err)
	}
	return f, nil
}

// begin makes the buckets of a new file, or reads the mark of one that is there.
func begin(tx *bolt.Tx, o Options) (c *codec, m mark, err error) {
	t := newTxn(tx, nil, nil)
	meta := t.open(bucketID{table: tMeta})
	t.open(bucketID{table: tLog})
	f := meta.Get(keyFmt)
	if f == nil {
		t.meta().look(keyFmt, keyFmt, keyFmt)
		if c, err = newCodec(meta, o.Keys); err != nil {
			return nil, m, err
		}
	} else if c, err = codecOf(meta, beUint64(f), o.Keys); err != nil {
		return nil, m, err
	}
	t = newTxn(tx, c, nil)
	if m, err = decodeMark(t.meta().Get(keyMark)); err == nil {
		err = t.vouch()
	}
	if err == nil && m != (mark{}) {
		err = t.putMark(m)
	}
	return c, m, err
}

const markLen = 8 + 8 + 16 + 32 + 8

func (m mark) encode() []byte {
	b := make([]byte, 0, markLen)
	b = binary.BigEndian.AppendUint64(b, uint64(m.index))
	b = binary.BigEndian.AppendUint64(b, uint64(m.term))
	b = append(b, m.last[:]...)
	b = append(b, m.sum.bytes()...)
	return binary.BigEndian.AppendUint64(b, m.ops)
}

func decodeMark(b []byte) (m mark, err error) {
	switch len(b) {
	case 0:
		return m, nil
	case markLen:
		m.index, m.term = Index(beUint64(b)), Index(beUint64(b[8:]))
		copy(m.last[:], b[16:])
		m.sum = sumFrom(b[32:64])
		m.ops = beUint64(b[64:])
		return m, nil
	default:
		return m, fmt.Errorf("%w: mark of %d bytes", ErrState, len(b))
	}
}

// putMark stores a mark. In a file without sums it gets its own, transaction u64 | CRC-32C of the mark u32: nothing else tells
// of a changed place in the log, and the state would pass over records, or take them again.
func (t *txn) putMark(m mark) error {
	b, raw := t.meta(), m.encode()
	if err := b.Put(keyMark, raw); err != nil || t.c != nil {
		return err
	}
	return b.Put(keyMarkSum, binary.BigEndian.AppendUint32(be64(uint64(t.tx.ID())), crc32.Checksum(raw, castagnoli)))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openings is how many transactions opening a file takes, at most: the one that leaves the list of free pages, and begin's.
const openings = 2

// vouch compares the mark with its sum. A version that knows of no sums may have written the mark since: then there were
// transactions that left the sum alone.
func (t *txn) vouch() error {
	if t.c != nil {
		return nil
	}
	sum := bytes.Clone(t.meta().Get(keyMarkSum))
	if sum == nil {
		return nil
	}
	if len(sum) != 12 {
		return fmt.Errorf("%w: the mark's sum has %d bytes", ErrState, len(sum))
	}
	raw := t.meta().Get(keyMark)
	if crc32.Checksum(raw, castagnoli) == binary.BigEndian.Uint32(sum[8:]) || uint64(t.tx.ID()) > beUint64(sum)+openings {
		return nil
	}
	return fmt.Errorf("%w: the mark is not the one that was written", ErrState)
}

// Close closes the file. Views that are open keep it open until they end.
func (s *State) Close() error {
	s.stopFlusher()
	s.d.lock()
	defer s.d.unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	s.followed()
	err := errors.Join(s.endCheckpoints(), s.db.Close())
	s.db = nil
	return err
}

// Applied is the last record whose effects the state holds.
func (s *State) Applied() (index, term Index) {
	m := s.mark()
	return m.index, m.term
}

// Last is the time of the newest entry; a new leader's clock observes it.
func (s *State) Last() HLC { return s.mark().last }

// Sum is the hash of the whole replicated state at an index.
func (s *State) Sum() (Index, Sum) {
	m := s.mark()
	return m.index, m.sum
}

func (s *State) mark() mark {
	s.at.Lock()
	defer s.at.Unlock()
	return s.m
}

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

// Apply advances the state by a batch of committed records, in order, in one transaction. Records the
// state already holds are passed over, and those of the last moments before a crash are applied again. It is a function of the state and the records alone; an error means
// that nothing of the batch was applied and the node must stop: its disk is broken or a record is from a newer version.
func (s *State) Apply(batch []Record) (out []Outcome, err error) { return s.apply(batch, false) }

// apply is Apply, or, when it is a trial, ends before the commit with errTried.
func (s *State) apply(batch []Record, trial bool) (out []Outcome, err error) {
	if err := s.fit(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, Errorf(Internal, "state is closed")
	}
	next, doing := s.mark(), "" // the entry under way
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, metIn(doing, p)
		}
	}()
	s.followed()
	tx, err := s.db.Begin(true)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	defer tx.Rollback() // no effect after the commit
	t := newTxn(tx, s.c, s.ways)
	if on, err := decodeMark(t.meta().Get(keyMark)); err != nil {
		return nil, err
	} else if on != next { // as a View finds it
		return nil, fmt.Errorf("%w: it was at %d and is at %d", ErrState, next.index, on.index)
	}
	t.sum = next.sum
	t.watched = s.scrub.watching()
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
	if err := s.trim(t, &next); err != nil {
		return nil, fmt.Errorf("trim log: %w", err)
	}
	if trial {
		return nil, errTried
	}
	next.sum = t.sum
	if err := t.putMark(next); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	s.size = tx.Size()
	err = s.scrub.commit(tx, t, func() {
		s.at.Lock()
		s.m = next
		s.at.Unlock()
	})
	if err != nil {
		return nil, fmt.Errorf("apply: commit: %w", err)
	}
	s.changed()
	s.following.Lock()
	go func() {
		defer s.following.Unlock()
		if err := s.ways.Follow(); err != nil {
			s.notice(fmt.Errorf("%w: %w", ErrState, err))
		}
	}()
	return out, nil
}

// followed returns when ways knows of the last commit.
func (s *State) followed() {
	s.following.Lock()
	defer s.following.Unlock()
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
		t.cutLog(next.last)
		return out, nil
	}
	next.ops += uint64(kept.Ops)
	log := t.log()
	log.FillPercent = 0.95
	if err := log.Put(be64(uint64(r.Index)), encode(&kept)); err != nil {
		return nil, fmt.Errorf("retain: %w", err)
	}
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

// IsCorrupt says that a file or record could not be read, as opposed to a disk that is full or gone.
func IsCorrupt(err error) bool {
	return errors.Is(err, ErrState) || errors.Is(err, ErrRecord)
}
