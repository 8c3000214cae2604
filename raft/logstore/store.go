package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
)

// Options configure a store. A zero value stands for the default named in the field's comment.
type Options struct {
	FS           FS          // OS
	Keys         *seal.Ring  // nil: nothing is encrypted
	SegmentBytes int64       // 8 MiB: size of a segment, unless the log is large
	Leads        func() bool // reports whether StoreLogs may return before the sync (unsynced.go); nil: never
	Failed       func(error) // gets the error of a background sync; may be nil

	Retain func() uint64 // returns the first record to retain when the log's beginning is cut off; nil: none is retained
	Lost   func(error)   // gets an error about retained records that cannot be read; may be nil
}

// extendBy is the number of bytes by which the last segment grows at a time. A sync is fastest when the write does
// not change the file's length.
const extendBy = 512 << 10

// A log has about manySegments at most, unless the segments would be larger than maxSegment.
const (
	manySegments = 64
	maxSegment   = 1 << 30
)

// ErrUnsynced reports a failed sync: the written bytes may or may not be on disk.
var ErrUnsynced = errors.New("sync of the log")

// Store is a member's log. One task at a time stores and deletes (turn); any task may read. mu guards segs, removals
// and the ends of segments, and is never held over I/O.
type Store struct {
	dir           string
	o             Options
	dirLock       Dir
	meta          atomic.Pointer[meta]
	metaTurn      chan struct{}
	turn          chan struct{} // held by the writing task; a channel, because the disk is slow and no mutex is held across a write
	buf           []byte
	pendingSync   atomic.Pointer[unsyncedAppend]
	syncFailure   atomic.Pointer[error] // the first failed sync
	firstReadable atomic.Uint64         // the first retained record that can be read

	committed atomic.Uint64 // see Committed
	busy      atomic.Int64  // see Busy

	mu       sync.RWMutex
	segs     []*segment // the oldest first
	removals int        // counts removals of records
	closed   bool
}

// Open opens the store in a directory, which it creates if necessary, and reads the whole log. It returns ErrDamaged
// if the files differ from the bytes that were written, and leaves them unchanged.
func Open(dir string, o Options) (_ *Store, err error) {
	o.FS = cmp.Or[FS](o.FS, OS{})
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 8<<20)
	s := &Store{dir: dir, o: o, turn: make(chan struct{}, 1), metaTurn: make(chan struct{}, 1)}
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, err
	}
	if s.dirLock, err = o.FS.Lock(dir); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (s *Store) open() error {
	firsts, used, err := s.list()
	if err != nil {
		return err
	}
	m, err := readMeta(s.o.FS, s.dir, s.o.Keys)
	if notExist(err) {
		if used {
			return fmt.Errorf("%w: %s is gone", ErrDamaged, metaFile)
		}
		m = newMeta()
	} else if err != nil {
		return err
	}
	s.meta.Store(&m)
	s.NoteCommitted(m.Committed)
	if notExist(err) {
		if err := errors.Join(s.updateMeta(func(*meta) {}), s.failedSync(s.o.FS.SyncDir(filepath.Dir(s.dir)))); err != nil {
			return err
		}
	}
	return s.loadAll(firsts)
}

// list returns the first record of each segment, and removes files that a crash left unfinished. used reports whether
// the directory has files that are only made after meta.
func (s *Store) list() (firsts []uint64, used bool, err error) {
	names, err := s.o.FS.List(s.dir)
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		used = used || name == votesFile
		if first, ok := parseSegmentName(name); ok {
			firsts = append(firsts, first)
		} else if strings.HasSuffix(name, unfinished) {
			if err := s.o.FS.Remove(filepath.Join(s.dir, name)); err != nil {
				return nil, false, err
			}
		}
	}
	slices.Sort(firsts)
	return firsts, used || len(firsts) > 0, nil
}

// loadAll reads the segments and compares them with meta.
func (s *Store) loadAll(firsts []uint64) error {
	m := s.meta.Load()
	for len(firsts) > 0 && (m.Newest == 0 || len(firsts) > 1 && firsts[1] <= m.Kept) { // a crash left a deleted segment, or a new one without records
		if err := s.o.FS.Remove(s.segmentPath(firsts[0])); err != nil {
			return err
		}
		firsts = firsts[1:]
	}
	if n := len(firsts); m.Newest > 0 && (n == 0 || firsts[n-1] < m.Newest) {
		return fmt.Errorf("%w: %s is gone", ErrDamaged, segmentName(m.Newest))
	}
	firsts = s.listKept(firsts)
	for i, first := range firsts {
		g, end, err := s.load(first)
		if err != nil {
			return err
		}
		s.segs = append(s.segs, g)
		if i < len(firsts)-1 {
			if g.nextIndex() != firsts[i+1] {
				return fmt.Errorf("%s: %w: it ends at record %d, and the next segment begins at %d", segmentName(first),
					ErrDamaged, g.nextIndex()-1, firsts[i+1])
			}
			continue
		}
		if err := s.syncEnding(g, end); err != nil {
			return err
		}
	}
	if len(firsts) == 0 {
		return nil
	}
	newest := s.segs[len(s.segs)-1]
	if first := firsts[0]; first > m.First {
		return fmt.Errorf("%w: the log begins at record %d, and meta says %d", ErrDamaged, first, m.First)
	}
	if newest.nextIndex()-1 < m.Last {
		return fmt.Errorf("%w: the log ends at record %d, and meta says %d", ErrDamaged, newest.nextIndex()-1, m.Last)
	}
	return nil
}

// FirstIndex implements hraft.LogStore.
func (s *Store) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.end() == 0 {
		return 0, nil
	}
	return s.meta.Load().First, nil
}

// LastIndex implements hraft.LogStore.
func (s *Store) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.end(), nil
}

// end returns the index of the last record; 0 if there is none. The caller holds mu.
func (s *Store) end() uint64 {
	if len(s.segs) == 0 {
		return 0
	}
	if last := s.segs[len(s.segs)-1].nextIndex() - 1; last >= s.meta.Load().First {
		return last
	}
	return 0
}

// GetLog implements hraft.LogStore.
func (s *Store) GetLog(index uint64, l *hraft.Log) error {
	if index < s.meta.Load().First { // retained records before the first are not part of the log
		return hraft.ErrLogNotFound
	}
	r := s.Reader()
	defer r.Close()
	found, _, err := r.readRetrying(index)
	if err == nil {
		*l = *found
	}
	return err
}

// segmentOf returns the position in segs of the segment that has a record. The caller holds mu.
func (s *Store) segmentOf(index uint64) int {
	i, exact := slices.BinarySearchFunc(s.segs, index, func(g *segment, index uint64) int { return cmp.Compare(g.first, index) })
	if !exact {
		i--
	}
	return i
}

// StoreLog implements hraft.LogStore.
func (s *Store) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore. If the records leave a gap after the last one, a snapshot has replaced
// everything before them, and the log is emptied first.
func (s *Store) StoreLogs(logs []*hraft.Log) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.unlock()
	defer s.addBusy(time.Now())
	if len(logs) == 0 {
		return nil
	}
	for i, l := range logs {
		if l.Index != logs[0].Index+uint64(i) || l.Index == 0 {
			return fmt.Errorf("record %d after record %d", l.Index, logs[0].Index)
		}
	}
	first := logs[0].Index
	if last := s.end(); first <= last {
		return fmt.Errorf("cannot store record %d: the log ends at %d", first, last)
	}
	if n := len(s.segs); n > 0 && s.segs[n-1].nextIndex() != first {
		if err := s.deleteAll(first); err != nil {
			return err
		}
	}
	g, err := s.segmentFor(logs)
	if err != nil {
		return err
	}
	if s.meta.Load().Last != 0 { // the store is in use again. Open does not write this, because it must need no disk space
		if err := s.updateMeta(func(m *meta) { m.Last = 0 }); err != nil {
			return err
		}
	}
	if s.buf, err = s.append(g, s.buf, logs); err != nil {
		return err
	}
	if cap(s.buf) > 4<<20 {
		s.buf = nil // release the buffer of a large batch
	}
	if s.mayReturnEarly(logs) {
		s.syncInBackground(g, logs[0].Index)
		return nil
	}
	return s.sync(g)
}

// addBusy adds the time since start to Busy.
func (s *Store) addBusy(start time.Time) { s.busy.Add(int64(time.Since(start))) }

// Busy returns how long the store has been writing and syncing records. It does one write at a time, so a store that
// is busy for a second in each second is at its limit.
func (s *Store) Busy() time.Duration { return time.Duration(s.busy.Load()) }

// segmentFor returns the segment for these records, and begins a new one if the last is full.
func (s *Store) segmentFor(logs []*hraft.Log) (*segment, error) {
	all := int64(0)
	for _, g := range s.segs {
		if !g.kept {
			all += g.size
		}
	}
	limit := min(max(s.o.SegmentBytes, all/manySegments), maxSegment) // each segment is an open file
	size := int64(markSize)
	for _, l := range logs {
		size += headSize + sumSize + seal.Overhead + int64(len(l.Data)+len(l.Extensions))
	}
	if n := len(s.segs); n > 0 {
		if g := s.segs[n-1]; len(g.offsets) == 0 || g.tail+size <= limit {
			return g, nil
		}
	}
	first := logs[0].Index
	g, err := s.create(first, nil)
	if err != nil {
		return nil, err
	}
	err = s.updateMeta(func(m *meta) {
		m.Newest, m.Last = first, 0
		if len(s.segs) == 0 {
			m.First, m.Kept = first, first
		}
	})
	if err != nil { // the next records may go to the last segment, so a crash must not bring this one back
		return nil, errors.Join(err, g.f.Close(), s.o.FS.Remove(g.name), s.syncDir())
	}
	s.mu.Lock()
	s.segs = append(s.segs, g)
	s.mu.Unlock()
	return g, nil
}

// lock takes the writer's turn, and waits for the background sync of the last writer.
func (s *Store) lock() error {
	s.turn <- struct{}{}
	err := s.pendingSync.Load().wait()
	if failed := s.syncFailure.Load(); failed != nil {
		err = *failed
	}
	if err != nil {
		s.unlock()
	}
	return err
}

func (s *Store) unlock() { <-s.turn }

// Close writes the log's end into meta, so that the next start detects a log that ends earlier.
func (s *Store) Close() error {
	err := s.lock()
	if err == nil {
		defer s.unlock()
		if n := len(s.segs); n > 0 {
			err = s.segs[n-1].f.Sync() // syncs the last mark
		}
		if err == nil {
			err = s.updateMeta(func(m *meta) { m.Last = s.end() })
		}
	}
	return errors.Join(err, s.release())
}

func (s *Store) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, g := range s.segs {
		errs = append(errs, g.close())
	}
	s.segs, s.closed = nil, true
	return errors.Join(append(errs, s.dirLock.Close())...)
}
