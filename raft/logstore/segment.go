package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	hraft "github.com/hashicorp/raft"
)

// segment is a file of records that follow one another.
type segment struct {
	codec
	f       File
	name    string
	offsets []uint32 // of the records, the first one's first
	at      int64    // where the next frame goes
	used    int64    // behind it there are zeros up to the file's end; beyond at when a write has failed
	size    int64    // how long the file is

	committed uint64 // what the marks say that the log knew to be committed

	kept bool // f is nil, and offsets is nil until a Reader has come; see kept.go
}

const segmentSuffix = ".seg"

func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

// firstOf is the first record of a segment, as its name says.
func firstOf(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, ok && err == nil && name == segmentName(first)
}

// next is the index behind the last record's.
func (g *segment) next() uint64 { return g.first + uint64(len(g.offsets)) }

// place says where a record of the segment lies. The store's mu is held.
func (g *segment) place(index uint64) (offset, end int64) {
	at := index - g.first
	if end = g.at; at+1 < uint64(len(g.offsets)) {
		end = int64(g.offsets[at+1])
	}
	return int64(g.offsets[at]), end
}

// close closes the segment's file.
func (g *segment) close() error {
	if g.f == nil {
		return nil
	}
	return g.f.Close()
}

// create makes a segment that holds records, and gives it its name once it is on disk.
func (s *Store) create(first uint64, logs []*hraft.Log) (*segment, error) {
	g, err := s.prepare(first, logs)
	if err != nil {
		return nil, err
	}
	if err := s.publish(g.name); err != nil {
		return nil, errors.Join(err, g.f.Close())
	}
	return g, nil
}

// prepare makes a segment that has no name yet: a start removes it.
func (s *Store) prepare(first uint64, logs []*hraft.Log) (_ *segment, err error) {
	g := &segment{codec: codec{s.o.Keys, s.meta.Load().Salt, first}, name: s.segmentPath(first), at: headerSize}
	frames, offsets, err := g.encode(nil, logs)
	if err != nil {
		return nil, err
	}
	g.offsets, g.at = offsets, g.at+int64(len(frames))
	g.size = s.roundUp(g.at + markSize)
	if g.f, err = s.o.FS.Create(g.name + unfinished); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.discard(g))
		}
	}()
	b := append(g.header(g.size), frames...)
	if len(logs) > 0 {
		b = g.appendMark(b, g.at, g.next()-1, s.Committed(), g.size)
		g.at += markSize
	}
	g.used = g.at
	b = append(b, make([]byte, g.size-int64(len(b)))...)
	if _, err = g.f.WriteAt(b, 0); err == nil {
		err = g.f.Sync()
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// discard removes a segment that was prepared.
func (s *Store) discard(g *segment) error {
	return errors.Join(g.f.Close(), s.o.FS.Remove(g.name+unfinished))
}

// encode appends to b the frames of records that go to the segment's end, and returns their offsets.
func (g *segment) encode(b []byte, logs []*hraft.Log) (_ []byte, offsets []uint32, err error) {
	for _, l := range logs {
		if g.at+int64(len(b)) > 1<<32-1 {
			return nil, nil, fmt.Errorf("record %d: a segment holds at most 4 GiB", l.Index)
		}
		offsets = append(offsets, uint32(g.at)+uint32(len(b)))
		b = g.appendRecord(b, g.at, l)
	}
	return b, offsets, nil
}

// append writes records behind the last one, followed by zeros where the file has no allocated room or a failed write
// may have left bytes. It reuses buf.
func (s *Store) append(g *segment, buf []byte, logs []*hraft.Log) ([]byte, error) {
	b, offsets, err := g.encode(buf[:0], logs)
	if err != nil {
		return buf, err
	}
	size := g.size
	end := g.at + int64(len(b))
	if end+markSize > size {
		size = s.roundUp(end + markSize)
		b = append(b, make([]byte, size-end)...)
	} else if g.used > end {
		b = append(b, make([]byte, g.used-end)...)
	}
	n, err := g.f.WriteAt(b, g.at)
	g.used = max(g.used, g.at+int64(n))
	if err != nil {
		if _, clean := g.f.WriteAt(make([]byte, n), g.at); clean == nil { // a record that is refused is not found after a kill either
			g.used = g.at
		}
		return b, err
	}
	g.used, g.size = end, size
	s.mu.Lock()
	g.offsets, g.at = append(g.offsets, offsets...), end
	s.mu.Unlock()
	return b, nil
}

// roundUp is the length given to a file that is to hold n bytes.
func (s *Store) roundUp(n int64) int64 {
	step := min(extendBy, s.o.SegmentBytes)
	return (n + step - 1) / step * step
}

// sync puts the written records on the disk, then marks them. A mark that cannot be written is not a failure: the
// records are on disk, and the next write meets the same disk.
func (s *Store) sync(g *segment) error {
	if err := s.failedSync(g.f.Sync()); err != nil {
		return err
	}
	b := g.appendMark(nil, g.at, g.next()-1, s.Committed(), g.size)
	n, err := g.f.WriteAt(b, g.at)
	g.used = max(g.used, g.at+int64(n))
	if err == nil {
		s.mu.Lock()
		g.at += markSize
		s.mu.Unlock()
	}
	return nil
}

// An ending describes the end of the last segment on disk.
type ending struct {
	torn     bool // there are bytes behind the last record, or mark, that are neither
	unmarked bool // the disk is not known to have the last record
}

// load reads a segment.
func (s *Store) load(first uint64) (g *segment, end ending, err error) {
	g = &segment{codec: codec{s.o.Keys, s.meta.Load().Salt, first}, name: s.segmentPath(first)}
	if g.f, err = s.o.FS.Open(g.name); err != nil {
		return nil, end, err
	}
	if end, err = g.scan(); err != nil {
		return nil, end, errors.Join(fmt.Errorf("%s: %w", segmentName(first), err), g.f.Close())
	}
	s.NoteCommitted(g.committed)
	return g, end, nil
}

// scan finds the records of a segment. It passes over a damaged mark when the next record is intact.
func (g *segment) scan() (end ending, err error) {
	if g.size, err = g.f.Size(); err != nil {
		return end, err
	}
	raw := make([]byte, g.size)
	if _, err := g.f.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return end, unreadable(err)
	}
	was, err := g.checkHeader(raw)
	if err != nil {
		return end, err
	}
	for g.at = headerSize; ; {
		h, l, err := g.frame(raw[g.at:], g.at)
		switch {
		case err == nil && l == nil && h.index == g.next()-1:
			was, end.unmarked = max(was, int64(h.stamp)), false
			g.committed = max(g.committed, h.term)
			g.at += markSize
		case err == nil && l != nil && l.Index == g.next():
			g.offsets, end.unmarked = append(g.offsets, uint32(g.at)), true
			g.at += g.length(h)
		case g.recordAt(raw, g.at+markSize):
			g.at += markSize
		default:
			rest := raw[g.at:]
			if marked, ok := g.markWithin(rest, g.at); ok {
				return end, fmt.Errorf("%w: unreadable after record %d, and the disk had records up to %d", ErrDamaged, g.next()-1, marked)
			}
			if g.size < was {
				return end, fmt.Errorf("%w: %d bytes of %d", ErrDamaged, g.size, was)
			}
			kept := bytes.TrimRight(rest, "\x00")
			g.used, end.torn = g.at+int64(len(kept)), len(kept) > 0
			return end, nil
		}
	}
}

// recordAt reports whether the next record is at an offset.
func (g *segment) recordAt(raw []byte, offset int64) bool {
	if offset > int64(len(raw)) {
		return false
	}
	_, l, err := g.frame(raw[offset:], offset)
	return err == nil && l != nil && l.Index == g.next()
}

// syncEnding puts the end of the last segment on disk as it was read: the records that scan found may so far be in the
// system's memory only.
func (s *Store) syncEnding(g *segment, end ending) error {
	if end.torn {
		if _, err := g.f.WriteAt(make([]byte, g.used-g.at), g.at); err != nil {
			return err
		}
		g.used = g.at
	}
	if end.unmarked && g.at+markSize > g.size { // the room for the mark was torn off
		size := s.roundUp(g.at + markSize)
		if _, err := g.f.WriteAt(make([]byte, size-g.at), g.at); err != nil {
			return err
		}
		g.size = size
	}
	switch {
	case end.unmarked:
		return s.sync(g)
	case end.torn:
		return s.failedSync(g.f.Sync())
	}
	return nil
}

// read reads a record from the segment's file.
func (g *segment) read(f File, offset, end int64, index uint64) (*hraft.Log, error) {
	b := make([]byte, end-offset)
	if _, err := f.ReadAt(b, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	_, l, err := g.frame(b, offset)
	if err == nil && (l == nil || l.Index != index) {
		err = ErrDamaged
	}
	return l, err
}

// unreadable turns a disk's read error into ErrDamaged.
func unreadable(err error) error {
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
