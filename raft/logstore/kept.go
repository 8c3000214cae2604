package logstore

import (
	"errors"
	"fmt"
	"slices"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/damage"
)

// A snapshot makes the log's oldest records unnecessary, and the store cuts them off. Records that readers still need
// (Options.Retain) stay in their files: a segment that ends before the log's first record is neither opened nor read
// at the start, and the library does not see it. So each record is on the disk only once, and retained records do not
// slow down a start. A Reader reads them. It checks a segment when it first enters it. If it finds damage, the
// retained records up to there are lost; the cluster needs none of them.

// ErrClosed reports that the store was closed.
var ErrClosed = errors.New("the log is closed")

// listKept adds the segments that have only retained records, and returns the first records of the others.
func (s *Store) listKept(firsts []uint64) (others []uint64) {
	m := s.meta.Load()
	for len(firsts) > 1 && firsts[1] <= m.First {
		s.segs = append(s.segs, s.keptSegment(firsts[0]))
		firsts = firsts[1:]
	}
	if len(s.segs) > 0 && s.segs[0].first > m.Kept {
		s.markLost(s.segs[0].first,
			&damage.Error{Path: s.segmentPath(m.Kept),
				Err: fmt.Errorf("%w: the kept records begin at %d, and meta says %d", ErrDamaged, s.segs[0].first, m.Kept)})
	}
	return firsts
}

func (s *Store) keptSegment(first uint64) *segment {
	return &segment{codec: codec{s.o.Keys, s.meta.Load().Salt, first}, name: s.segmentPath(first), kept: true}
}

// closeKept closes the segments that end before the log's first record.
func (s *Store) closeKept() (err error) {
	n := s.segmentsBefore(s.meta.Load().First)
	var old []*segment
	s.mu.Lock()
	s.segs = slices.Clone(s.segs)
	for i, g := range s.segs[:n] {
		if !g.kept {
			k := s.keptSegment(g.first)
			k.offsets, k.tail = g.offsets, g.tail
			s.segs[i], old = k, append(old, g)
			s.removals++
		}
	}
	s.mu.Unlock()
	for _, g := range old {
		err = errors.Join(err, g.close())
	}
	return err
}

// nextIndex returns the index after a segment's last record. For a segment that was not read it is the first record
// of the next segment.
func (s *Store) nextIndex(at int) uint64 {
	if at+1 < len(s.segs) {
		return s.segs[at+1].first
	}
	return s.segs[at].nextIndex()
}

// FirstKept returns the first record that a Reader finds; 0 if there is none.
func (s *Store) FirstKept() uint64 {
	m := s.meta.Load()
	if m.Newest == 0 {
		return 0
	}
	return max(m.Kept, s.firstReadable.Load())
}

// dropKept deletes the retained records that cannot be read, and those before them.
func (s *Store) dropKept() error {
	m := s.meta.Load()
	kept := min(m.First, s.firstReadable.Load())
	if kept <= m.Kept {
		return nil
	}
	if err := s.updateMeta(func(m *meta) { m.Kept = kept }); err != nil {
		return err
	}
	return s.removeOldest(s.segmentsBefore(kept))
}

// markLost makes next the first readable record: retained records before it are lost.
func (s *Store) markLost(next uint64, why error) {
	for was := s.firstReadable.Load(); was < next; was = s.firstReadable.Load() {
		if s.firstReadable.CompareAndSwap(was, next) {
			if s.o.Lost != nil {
				s.o.Lost(fmt.Errorf("records before %d: %w", next, why))
			}
			return
		}
	}
}

// retryWithoutLost reports whether err means that a rewrite met retained records that cannot be read. They are lost,
// and the caller tries again without them. Otherwise it returns err.
func (s *Store) retryWithoutLost(err error) (again bool, _ error) {
	m := s.meta.Load()
	if r := s.firstReadable.Load(); errors.Is(err, ErrDamaged) && m.Kept < r && r <= m.First {
		return true, nil
	}
	return false, err
}

// A Reader reads records, retained ones included, mostly in order. One goroutine uses it and closes it.
type Reader struct {
	s         *Store
	holdsTurn bool     // the caller holds the store's turn
	kept      *segment // the retained segment whose file is f
	f         File
}

// Reader returns a new Reader of the store.
func (s *Store) Reader() *Reader { return &Reader{s: s} }

// Close closes the Reader's file.
func (r *Reader) Close() { r.closeFile() }

func (r *Reader) closeFile() {
	if r.f != nil {
		_ = r.f.Close() // nothing was written
	}
	r.kept, r.f = nil, nil
}

// Read returns a record. It returns hraft.ErrLogNotFound if the record was removed, and ErrDamaged if the record and
// the retained records before it are lost.
func (r *Reader) Read(index uint64) (*hraft.Log, error) {
	l, p, err := r.readRetrying(index)
	if err == nil || p == nil || !errors.Is(err, ErrDamaged) {
		return l, err
	}
	if !r.holdsTurn { // a rewrite renames a segment's new file before it updates segs
		if err := r.s.lock(); err != nil {
			return nil, err
		}
		defer r.s.unlock()
		if l, p, err = r.readRetrying(index); p == nil || !errors.Is(err, ErrDamaged) {
			return l, err
		}
	}
	r.s.markLost(max(index+1, p.lost), err)
	return nil, err
}

// readRetrying returns a record and its location. It tries again if records were removed meanwhile.
func (r *Reader) readRetrying(index uint64) (l *hraft.Log, p *location, err error) {
	for {
		if p, err = r.s.locate(index); err != nil {
			return nil, nil, err
		}
		if l, err = r.read(p, index); err == nil {
			return l, p, nil
		}
		r.closeFile()
		if r.s.unchanged(p) {
			return nil, p, &damage.Error{Path: p.g.name, Err: fmt.Errorf("record %d: %w", index, err)}
		}
	}
}

// location is the position of a record in a segment.
type location struct {
	g           *segment
	offset, end int64
	next        uint64 // index after the segment's last record
	scanned     bool   // offset and end are known
	lost        uint64 // the first record after the unreadable ones
	removals    int
}

func (s *Store) locate(index uint64) (p *location, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	if index < max(s.meta.Load().Kept, s.firstReadable.Load()) || index > s.end() {
		return nil, hraft.ErrLogNotFound
	}
	at := s.segmentOf(index)
	p = &location{g: s.segs[at], next: s.nextIndex(at), removals: s.removals}
	if p.scanned = p.g.offsets != nil; p.scanned {
		p.offset, p.end = p.g.locate(index)
	}
	return p, nil
}

// unchanged reports whether no record was removed since a location was found.
func (s *Store) unchanged(p *location) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.removals == p.removals && !s.closed
}

func (r *Reader) read(p *location, index uint64) (*hraft.Log, error) {
	if !p.g.kept {
		return p.g.read(p.g.f, p.offset, p.end, index)
	}
	if r.kept != p.g {
		r.closeFile()
		f, err := r.s.o.FS.Open(p.g.name)
		if notExist(err) {
			p.lost = p.next
			return nil, fmt.Errorf("%w: the file is gone", ErrDamaged)
		}
		if err != nil {
			return nil, err
		}
		r.kept, r.f = p.g, f
	}
	if !p.scanned {
		if err := r.scan(p, index); err != nil {
			p.lost = p.next
			return nil, err
		}
	}
	return p.g.read(r.f, p.offset, p.end, index)
}

// scan finds the records of a retained segment.
func (r *Reader) scan(p *location, index uint64) error {
	g := &segment{codec: p.g.codec, f: r.f}
	if _, err := g.scan(); err != nil {
		return err
	}
	if g.nextIndex() != p.next {
		return fmt.Errorf("%w: it ends at record %d, and the next segment begins at %d", ErrDamaged, g.nextIndex()-1, p.next)
	}
	p.offset, p.end = g.locate(index)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p.g.offsets, p.g.tail = g.offsets, g.tail
	return nil
}
