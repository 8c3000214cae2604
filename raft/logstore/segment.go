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

// segment is a file of consecutive records.
type segment struct {
	codec
	f        File
	name     string
	offsets  []uint32 // of the records, in order
	tail     int64    // offset of the next frame
	dirtyEnd int64    // the file is zero from here on; greater than tail after a failed write
	size     int64    // length of the file

	committed uint64 // the last committed record that the marks name

	kept bool // the records are retained, but not part of the log: f is nil, and offsets is nil until a Reader scans it; see kept.go
}

const segmentSuffix = ".seg"

func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

// parseSegmentName returns the index of a segment's first record, which its file name states.
func parseSegmentName(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, ok && err == nil && name == segmentName(first)
}

// nextIndex returns the index after the last record.
func (g *segment) nextIndex() uint64 { return g.first + uint64(len(g.offsets)) }

// locate returns the offsets of a record in the segment. The caller holds the store's mu.
func (g *segment) locate(index uint64) (offset, end int64) {
	at := index - g.first
	if end = g.tail; at+1 < uint64(len(g.offsets)) {
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

// create makes a segment with the given records, and publishes it under its name once it is on disk.
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

// prepare makes a segment under a temporary name. If it is never published, the next start removes it.
func (s *Store) prepare(first uint64, logs []*hraft.Log) (_ *segment, err error) {
	g := &segment{codec: codec{s.o.Keys, s.meta.Load().Salt, first}, name: s.segmentPath(first), tail: headerSize}
	frames, offsets, err := g.encode(nil, logs)
	if err != nil {
		return nil, err
	}
	g.offsets, g.tail = offsets, g.tail+int64(len(frames))
	g.size = s.roundUp(g.tail + markSize)
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
		b = g.appendMark(b, g.tail, g.nextIndex()-1, s.Committed(), g.size)
		g.tail += markSize
	}
	g.dirtyEnd = g.tail
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

// encode appends the frames of the segment's next records to b, and returns the offsets of the records.
func (g *segment) encode(b []byte, logs []*hraft.Log) (_ []byte, offsets []uint32, err error) {
	for _, l := range logs {
		if g.tail+int64(len(b)) > 1<<32-1 {
			return nil, nil, fmt.Errorf("record %d: a segment holds at most 4 GiB", l.Index)
		}
		offsets = append(offsets, uint32(g.tail)+uint32(len(b)))
		b = g.appendRecord(b, g.tail, l)
	}
	return b, offsets, nil
}

// append writes records after the last one, followed by zeros where the file has no allocated space or where a failed
// write may have left bytes. It reuses buf.
func (s *Store) append(g *segment, buf []byte, logs []*hraft.Log) ([]byte, error) {
	b, offsets, err := g.encode(buf[:0], logs)
	if err != nil {
		return buf, err
	}
	size := g.size
	end := g.tail + int64(len(b))
	if end+markSize > size {
		size = s.roundUp(end + markSize)
		b = append(b, make([]byte, size-end)...)
	} else if g.dirtyEnd > end {
		b = append(b, make([]byte, g.dirtyEnd-end)...)
	}
	n, err := g.f.WriteAt(b, g.tail)
	g.dirtyEnd = max(g.dirtyEnd, g.tail+int64(n))
	if err != nil {
		if _, clean := g.f.WriteAt(make([]byte, n), g.tail); clean == nil { // zeros, so that a start after a kill does not find the rejected record
			g.dirtyEnd = g.tail
		}
		return b, err
	}
	g.dirtyEnd, g.size = end, size
	s.mu.Lock()
	g.offsets, g.tail = append(g.offsets, offsets...), end
	s.mu.Unlock()
	return b, nil
}

// roundUp returns the length of a file that is to hold n bytes.
func (s *Store) roundUp(n int64) int64 {
	step := min(extendBy, s.o.SegmentBytes)
	return (n + step - 1) / step * step
}

// sync syncs the written records to disk, then writes a mark. It ignores a failure to write the mark: the records are
// on disk, and the next write meets the same disk.
func (s *Store) sync(g *segment) error {
	if err := s.failedSync(g.f.Sync()); err != nil {
		return err
	}
	b := g.appendMark(nil, g.tail, g.nextIndex()-1, s.Committed(), g.size)
	n, err := g.f.WriteAt(b, g.tail)
	g.dirtyEnd = max(g.dirtyEnd, g.tail+int64(n))
	if err == nil {
		s.mu.Lock()
		g.tail += markSize
		s.mu.Unlock()
	}
	return nil
}

// An ending describes the end of the last segment on disk.
type ending struct {
	torn     bool // bytes after the last record or mark form no frame
	unmarked bool // no mark follows the last record, so it may not be on disk
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

// scan finds the records of a segment. It skips a damaged mark if the next record is intact.
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
	for g.tail = headerSize; ; {
		h, l, err := g.frame(raw[g.tail:], g.tail)
		switch {
		case err == nil && l == nil && h.index == g.nextIndex()-1:
			was, end.unmarked = max(was, int64(h.stamp)), false
			g.committed = max(g.committed, h.term)
			g.tail += markSize
		case err == nil && l != nil && l.Index == g.nextIndex():
			g.offsets, end.unmarked = append(g.offsets, uint32(g.tail)), true
			g.tail += g.length(h)
		case g.recordAt(raw, g.tail+markSize):
			g.tail += markSize
		default:
			rest := raw[g.tail:]
			if marked, ok := g.markWithin(rest, g.tail); ok {
				return end, fmt.Errorf("%w: unreadable after record %d, and the disk had records up to %d", ErrDamaged, g.nextIndex()-1, marked)
			}
			if g.size < was {
				return end, fmt.Errorf("%w: %d bytes of %d", ErrDamaged, g.size, was)
			}
			kept := bytes.TrimRight(rest, "\x00")
			g.dirtyEnd, end.torn = g.tail+int64(len(kept)), len(kept) > 0
			return end, nil
		}
	}
}

// recordAt reports whether the next record begins at an offset.
func (g *segment) recordAt(raw []byte, offset int64) bool {
	if offset > int64(len(raw)) {
		return false
	}
	_, l, err := g.frame(raw[offset:], offset)
	return err == nil && l != nil && l.Index == g.nextIndex()
}

// syncEnding syncs the end of the last segment to disk as it was read: the records that scan found may so far be only
// in the system's page cache. It ignores failed writes, because a log opens on a full disk too: the next record
// overwrites a torn end, and without a mark the records are on disk all the same.
func (s *Store) syncEnding(g *segment, end ending) error {
	if end.torn {
		if _, err := g.f.WriteAt(make([]byte, g.dirtyEnd-g.tail), g.tail); err == nil {
			g.dirtyEnd = g.tail
		}
	}
	if end.unmarked && g.tail+markSize > g.size { // the space for the mark is missing
		size := s.roundUp(g.tail + markSize)
		if _, err := g.f.WriteAt(make([]byte, size-g.tail), g.tail); err == nil {
			g.size = size
		}
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

// unreadable converts a disk's read error to ErrDamaged.
func unreadable(err error) error {
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
