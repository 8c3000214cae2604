package process

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/cairndb/cairn/local/child"
	"github.com/cairndb/cairn/oplog/seal"
)

// stream is the source of a frame.
type stream byte

const (
	stdoutStream stream = iota
	stderrStream
	exitStream
)

var streamNames = [...]string{"stdout", "stderr", "exit"}

// frame is one notification before it is encoded.
type frame struct {
	stream stream
	data   []byte // of stdout and stderr
	code   int    // of exit
}

// maxFrame bounds the data of one frame.
const maxFrame = child.MaxChunk

// appendFrame appends the line of a frame. id is the process id as JSON.
func appendFrame(b, id []byte, seq uint64, f frame) []byte {
	b = append(b, `{"type":"stream","processId":`...)
	b = append(b, id...)
	b = append(b, `,"stream":"`...)
	b = append(b, streamNames[f.stream]...)
	b = append(b, `","seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	if f.stream == exitStream {
		b = append(b, `,"exitCode":`...)
		b = strconv.AppendInt(b, int64(f.code), 10)
	} else {
		b = append(b, `,"data":"`...)
		b = base64.StdEncoding.AppendEncode(b, f.data)
		b = append(b, '"')
	}
	return append(b, "}\n"...)
}

// replay keeps the frames of one process, the newest in memory and the older ones in files. The lock of the process
// guards it.
//
// Invariant: segments and recent hold the frames from first() to next-1 in order, without a gap.
type replay struct {
	dir      string
	keys     *seal.Ring // encrypts the frames in segments; nil: plain
	limit    int64      // of the bytes in segments
	next     uint64
	recent   []frame // the newest
	inMemory int     // bytes of recent, including frameOverhead for each frame
	segments []*segment
	spilled  int64 // bytes of segments
	closed   bool  // nothing more is written

	spilling sync.Mutex // held while a file is written; taken before the process's lock
}

// segment is a range of frames in a file that has no name, so the file is gone when the server ends for any reason.
// The file is a sequence of records: stream byte, u32 length, data. On a node that encrypts, the data is sealed. The
// offset of every offsetInterval-th record is kept in memory.
type segment struct {
	file    *os.File
	keys    *seal.Ring
	first   uint64 // seq
	count   uint64
	size    int64
	offsets []int64
}

const (
	memoryBudget     = 16 << 20 // of frames in memory
	frameOverhead    = 96       // bytes of memory for a frame besides its data
	offsetInterval   = 256
	recordHeaderSize = 5
	segmentShare     = 16 // a segment has 1/16 of the limit; whole segments are dropped
)

// sealContext is the associated data of sealed frames. All processes share it, because no file outlives the server.
var sealContext = []byte("process replay")

func newReplay(dir string, limit int64, keys *seal.Ring) *replay {
	return &replay{dir: dir, keys: keys, limit: limit, next: 1}
}

// last returns the seq of the newest frame, or 0.
func (r *replay) last() uint64 { return r.next - 1 }

// first returns the seq of the oldest frame.
func (r *replay) first() uint64 {
	if len(r.segments) > 0 {
		return r.segments[0].first
	}
	return r.recentFirst()
}

func (r *replay) recentFirst() uint64 { return r.next - uint64(len(r.recent)) }

// add appends a frame. Its data must not change afterwards. It reports whether the caller must call spill.
func (r *replay) add(f frame) (full bool) {
	r.recent = append(r.recent, f)
	r.next++
	r.inMemory += len(f.data) + frameOverhead
	return r.inMemory > memoryBudget
}

// spill moves the older half of the frames in memory to a file. It takes the lock of the process, but writes without
// it. If there is no space, it drops the oldest segments, and then the frames themselves.
func (r *replay) spill(lock sync.Locker) {
	r.spilling.Lock() // the other stream of the process waits here, so memory stays bounded
	defer r.spilling.Unlock()
	for {
		lock.Lock()
		frames, to := r.plan()
		lock.Unlock()
		if frames == nil {
			return
		}
		s, err := to, error(nil)
		if s == nil {
			s, err = newSegment(r.dir, r.keys)
		}
		var next segment
		if err == nil {
			next, err = s.write(frames)
		}
		lock.Lock()
		r.commit(frames, s, next, err)
		lock.Unlock()
	}
}

// plan chooses the frames to move, and their segment (nil: a new one). The caller holds the lock.
func (r *replay) plan() (frames []frame, to *segment) {
	if r.inMemory <= memoryBudget {
		return nil, nil
	}
	n, size := 0, 0
	for n < len(r.recent)-1 && size < memoryBudget/2 {
		size += len(r.recent[n].data) + frameOverhead
		n++
	}
	if r.closed {
		r.trimRecent(n)
		return nil, nil
	}
	if k := len(r.segments); k > 0 && r.segments[k-1].size < r.limit/segmentShare {
		to = r.segments[k-1]
	}
	return r.recent[:n:n], to
}

// commit makes written frames readable: it sets segment s to next. The caller holds the lock.
func (r *replay) commit(frames []frame, s *segment, next segment, err error) {
	isNew := s != nil && s.count == 0
	switch {
	case r.closed || err != nil && len(r.segments) == 0:
		r.trimRecent(len(frames))
	case err != nil:
		r.dropOldest() // spill tries again
	default:
		if isNew {
			next.first = r.recentFirst()
			r.segments = append(r.segments, s)
		}
		r.spilled += next.size - s.size
		*s = next
		r.trimRecent(len(frames))
		for r.spilled > r.limit && len(r.segments) > 1 {
			r.dropOldest()
		}
		return
	}
	if isNew {
		s.file.Close()
	}
}

// trimRecent removes the n oldest frames from memory.
func (r *replay) trimRecent(n int) {
	for _, f := range r.recent[:n] {
		r.inMemory -= len(f.data) + frameOverhead
	}
	r.recent = append(make([]frame, 0, len(r.recent)), r.recent[n:]...)
}

// dropOldest removes the oldest segment.
func (r *replay) dropOldest() {
	r.segments[0].file.Close()
	r.spilled -= r.segments[0].size
	r.segments = slices.Delete(r.segments, 0, 1)
}

func newSegment(dir string, keys *seal.Ring) (*segment, error) {
	f, err := os.CreateTemp(dir, "replay-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segment{file: f, keys: keys}, nil
}

// write appends frames and returns the segment that includes them. Readers see the old size until commit.
func (s *segment) write(frames []frame) (next segment, err error) {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 1<<20)
	at, offsets := s.size, s.offsets
	for i, f := range frames {
		if (s.count+uint64(i))%offsetInterval == 0 {
			offsets = append(offsets, at)
		}
		var head [recordHeaderSize]byte
		head[0] = byte(f.stream)
		data := f.data
		if s.keys != nil {
			data = s.keys.Seal(nil, f.data, sealContext)
		}
		binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
		if _, err := w.Write(head[:]); err != nil {
			return next, err
		}
		if _, err := w.Write(data); err != nil {
			return next, err
		}
		at += recordHeaderSize + int64(len(data))
	}
	if err := w.Flush(); err != nil {
		return next, err
	}
	return segment{file: s.file, keys: s.keys, first: s.first, count: s.count + uint64(len(frames)), size: at, offsets: offsets}, nil
}

// close closes the files, which removes them.
func (r *replay) close() {
	r.closed = true
	for len(r.segments) > 0 {
		r.dropOldest()
	}
}

// cursor is a reader's position in a replay.
type cursor struct {
	next    uint64   // seq
	segment *segment // the segment that offset belongs to; nil if unknown
	offset  int64    // of the record of next
}

var errDropped = errors.New("frames were dropped before they were read")

// A frameRange holds the frames that follow a cursor. It is chosen under the lock of the process and read without it,
// so a slow disk delays the reader and not the process. Frames that are dropped in between cause errDropped.
type frameRange struct {
	start   cursor
	to      uint64
	frames  []frame // if they are in memory
	segment segment // otherwise: a copy of the segment
}

// nextRange returns the frames from a cursor up to seq to. The caller holds the lock.
func (r *replay) nextRange(c cursor, to uint64) (frameRange, error) {
	if c.next < r.first() {
		return frameRange{}, errDropped
	}
	if first := r.recentFirst(); c.next >= first {
		return frameRange{start: c, to: to, frames: r.recent[c.next-first:]}, nil
	}
	i, found := slices.BinarySearchFunc(r.segments, c.next, func(s *segment, seq uint64) int {
		switch {
		case seq < s.first:
			return 1
		case seq >= s.first+s.count:
			return -1
		}
		return 0
	})
	if !found {
		return frameRange{}, errDropped
	}
	s := r.segments[i]
	if c.segment != s {
		c.segment, c.offset = s, -1
	}
	return frameRange{start: c, to: to, segment: *s}, nil
}

// read appends the lines of the range, about limit bytes of them. It returns the cursor after them.
func (r frameRange) read(b, id []byte, limit int) ([]byte, cursor, error) {
	if r.frames == nil {
		return r.readFile(b, id, limit)
	}
	c, start := r.start, len(b)
	for _, f := range r.frames {
		if c.next > r.to || len(b)-start >= limit {
			break
		}
		b = appendFrame(b, id, c.next, f)
		c.next++
	}
	c.segment = nil
	return b, c, nil
}

// readFile reads from a segment.
func (r frameRange) readFile(b, id []byte, limit int) ([]byte, cursor, error) {
	c, s, skip := r.start, r.segment, uint64(0)
	if c.offset < 0 {
		n := c.next - s.first
		c.offset, skip = s.offsets[n/offsetInterval], n%offsetInterval
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, c.offset, s.size-c.offset), 256<<10)
	f := frame{data: make([]byte, 0, maxFrame)}
	for start := len(b); c.next <= r.to && c.next < s.first+s.count && len(b)-start < limit; {
		var head [recordHeaderSize]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return b, c, unreadable(err)
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		c.offset += recordHeaderSize + int64(n)
		if skip > 0 {
			if _, err := in.Discard(n); err != nil {
				return b, c, unreadable(err)
			}
			skip--
			continue
		}
		f.stream, f.data = stream(head[0]), slices.Grow(f.data[:0], n)[:n]
		if _, err := io.ReadFull(in, f.data); err != nil {
			return b, c, unreadable(err)
		}
		if s.keys != nil {
			plain, err := s.keys.Open(nil, f.data, sealContext)
			if err != nil {
				return b, c, err
			}
			f.data = plain
		}
		b = appendFrame(b, id, c.next, f)
		c.next++
	}
	return b, c, nil
}

// unreadable maps a read error. A file that was closed during the read was dropped.
func unreadable(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errDropped
	}
	return err
}
