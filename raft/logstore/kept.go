package logstore

import (
	"errors"
	"fmt"
	"slices"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/damage"
)

// Records that a snapshot holds are cut off the log's beginning. Those that others still want to read
// (Options.Retain) are kept where they are: a segment that ends before the log's first record is no longer read at
// the start nor open, and the library does not see it. So a record's bytes lie on the disk once, and what is kept
// costs a start nothing. Kept records are read by a Reader, which checks a segment when it enters it for the first
// time. Damage there ends the kept part behind it: nothing that the cluster needs is lost.

// ErrClosed says that the store was closed.
var ErrClosed = errors.New("the log is closed")

// listKept takes the segments of kept records, and returns the first records of the others.
func (s *Store) listKept(firsts []uint64) (others []uint64) {
	m := s.meta.Load()
	for len(firsts) > 1 && firsts[1] <= m.First {
		s.segs = append(s.segs, s.keptSegment(firsts[0]))
		firsts = firsts[1:]
	}
	if len(s.segs) > 0 && s.segs[0].first > m.Kept {
		s.lose(s.segs[0].first,
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
	n := s.before(s.meta.Load().First)
	var old []*segment
	s.mu.Lock()
	s.segs = slices.Clone(s.segs)
	for i, g := range s.segs[:n] {
		if !g.kept {
			k := s.keptSegment(g.first)
			k.offsets, k.at = g.offsets, g.at
			s.segs[i], old = k, append(old, g)
			s.cuts++
		}
	}
	s.mu.Unlock()
	for _, g := range old {
		err = errors.Join(err, g.close())
	}
	return err
}

// next is the index behind a segment's last record: of one that was not read, the next one's first.
func (s *Store) next(at int) uint64 {
	if at+1 < len(s.segs) {
		return s.segs[at+1].first
	}
	return s.segs[at].next()
}

// FirstKept is the first record that a Reader finds; 0 when there is none.
func (s *Store) FirstKept() uint64 {
	m := s.meta.Load()
	if m.Newest == 0 {
		return 0
	}
	return max(m.Kept, s.readable.Load())
}

// dropKept deletes the kept records that cannot be read, and those before them.
func (s *Store) dropKept() error {
	m := s.meta.Load()
	kept := min(m.First, s.readable.Load())
	if kept <= m.Kept {
		return nil
	}
	if err := s.updateMeta(func(m *meta) { m.Kept = kept }); err != nil {
		return err
	}
	return s.removeOldest(s.before(kept))
}

// lose ends the kept part behind records that cannot be read.
func (s *Store) lose(next uint64, why error) {
	for was := s.readable.Load(); was < next; was = s.readable.Load() {
		if s.readable.CompareAndSwap(was, next) {
			if s.o.Lost != nil {
				s.o.Lost(fmt.Errorf("records before %d: %w", next, why))
			}
			return
		}
	}
}

// lostAny reports that kept records which cannot be read are lost, so that the rewrite that met them can be tried
// again without them.
func (s *Store) lostAny(err error) (again bool, _ error) {
	m := s.meta.Load()
	if r := s.readable.Load(); errors.Is(err, ErrDamaged) && m.Kept < r && r <= m.First {
		return true, nil
	}
	return false, err
}

// A Reader reads records, kept ones too, mostly one after the other. It is for one goroutine. Close it.
type Reader struct {
	s      *Store
	inTurn bool     // its caller is the task that writes
	kept   *segment // whose file is open
	f      File
}

// Reader begins to read.
func (s *Store) Reader() *Reader { return &Reader{s: s} }

// Close ends it.
func (r *Reader) Close() { r.leave() }

func (r *Reader) leave() {
	if r.f != nil {
		_ = r.f.Close() // it was read
	}
	r.kept, r.f = nil, nil
}

// Read reads a record. hraft.ErrLogNotFound says that it is not there any more; ErrDamaged that it, and what was kept
// before it, is lost.
func (r *Reader) Read(index uint64) (*hraft.Log, error) {
	l, p, err := r.try(index)
	if err == nil || p == nil || !errors.Is(err, ErrDamaged) {
		return l, err
	}
	if !r.inTurn { // a segment that is being rewritten has its new file before it is known
		if err := r.s.lock(); err != nil {
			return nil, err
		}
		defer r.s.unlock()
		if l, p, err = r.try(index); p == nil || !errors.Is(err, ErrDamaged) {
			return l, err
		}
	}
	r.s.lose(max(index+1, p.lost), err)
	return nil, err
}

// try reads a record, and again when records were taken away meanwhile. p says where the record was.
func (r *Reader) try(index uint64) (l *hraft.Log, p *keptPlace, err error) {
	for {
		if p, err = r.s.findKept(index); err != nil {
			return nil, nil, err
		}
		if l, err = r.read(p, index); err == nil {
			return l, p, nil
		}
		r.leave()
		if r.s.same(p) {
			return nil, p, &damage.Error{Path: p.g.name, Err: fmt.Errorf("record %d: %w", index, err)}
		}
	}
}

// keptPlace is the position of a record.
type keptPlace struct {
	g           *segment
	offset, end int64
	next        uint64 // behind the segment's last record
	scanned     bool   // whether offset and end are known
	lost        uint64 // the record behind those that cannot be read
	cuts        int
}

func (s *Store) findKept(index uint64) (p *keptPlace, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	if index < max(s.meta.Load().Kept, s.readable.Load()) || index > s.end() {
		return nil, hraft.ErrLogNotFound
	}
	at := s.segmentOf(index)
	p = &keptPlace{g: s.segs[at], next: s.next(at), cuts: s.cuts}
	if p.scanned = p.g.offsets != nil; p.scanned {
		p.offset, p.end = p.g.place(index)
	}
	return p, nil
}

// same reports whether no record was taken away since a place was found.
func (s *Store) same(p *keptPlace) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cuts == p.cuts && !s.closed
}

func (r *Reader) read(p *keptPlace, index uint64) (*hraft.Log, error) {
	if !p.g.kept {
		return p.g.read(p.g.f, p.offset, p.end, index)
	}
	if r.kept != p.g {
		r.leave()
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

// scan finds the records of a kept segment.
func (r *Reader) scan(p *keptPlace, index uint64) error {
	g := &segment{codec: p.g.codec, f: r.f}
	if _, err := g.scan(); err != nil {
		return err
	}
	if g.next() != p.next {
		return fmt.Errorf("%w: it ends at record %d, and the next segment begins at %d", ErrDamaged, g.next()-1, p.next)
	}
	p.offset, p.end = g.place(index)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p.g.offsets, p.g.at = g.offsets, g.at
	return nil
}
