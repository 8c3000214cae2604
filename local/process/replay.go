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

// stream names the source of a frame.
type stream byte

const (
	stdoutStream stream = iota
	stderrStream
	exitStream
)

var streamNames = [...]string{"stdout", "stderr", "exit"}

// frame is one notification before it is written.
type frame struct {
	stream stream
	data   []byte // of stdout and stderr
	code   int    // of exit
}

// maxFrame limits the bytes of a stream in one frame.
const maxFrame = child.MaxPiece

// appendFrame writes a frame's line. id is the process id as JSON.
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

// replay keeps the frames of one process: the newest in memory, the older ones in files. The process's lock guards it.
//
// Invariant: the segments and recent hold the frames from first() to next-1 without a gap, in this order.
type replay struct {
	dir      string
	keys     *seal.Ring // what the segments' frames are sealed with; nil: they are not
	limit    int64      // bytes that segments may hold
	next     uint64
	recent   []frame // the newest
	inMemory int     // bytes of recent, with what a frame costs in addition to its data
	segments []*segment
	spilled  int64 // bytes of segments
	closed   bool  // nothing is written any more

	spilling sync.Mutex // held while a file is written; taken before the process's lock
}

// segment is a run of frames in a file that has no name: it is gone with its descriptor, whatever ends the server. The
// file is records without gaps, stream byte, length u32, data, sealed on a node that encrypts; every markEvery-th
// record's place is remembered.
type segment struct {
	file  *os.File
	keys  *seal.Ring
	first uint64 // seq
	count uint64
	size  int64
	marks []int64
}

const (
	memoryBudget = 16 << 20 // bytes that stay in memory
	frameCost    = 96       // of a frame in addition to its data
	markEvery    = 256
	recordHead   = 5
	segmentShare = 16 // a segment is this part of the limit, and the unit that is dropped
)

// spillPlace is the place that sealed frames are bound to. It is the same for all: no file outlives the server.
var spillPlace = []byte("process replay")

func newReplay(dir string, limit int64, keys *seal.Ring) *replay {
	return &replay{dir: dir, keys: keys, limit: limit, next: 1}
}

// last is the newest frame's seq, 0 for none.
func (r *replay) last() uint64 { return r.next - 1 }

// first is the oldest frame's seq.
func (r *replay) first() uint64 {
	if len(r.segments) > 0 {
		return r.segments[0].first
	}
	return r.recentFirst()
}

func (r *replay) recentFirst() uint64 { return r.next - uint64(len(r.recent)) }

// add takes a frame whose data is not changed afterwards, and reports whether spill is to be called.
func (r *replay) add(f frame) (full bool) {
	r.recent = append(r.recent, f)
	r.next++
	r.inMemory += len(f.data) + frameCost
	return r.inMemory > memoryBudget
}

// spill moves the older half of the frames in memory to a file. It takes the process's lock, and writes without it.
// When there is no room for the frames, older ones make some; when that does not help, they are dropped.
func (r *replay) spill(lock sync.Locker) {
	r.spilling.Lock() // the process's other stream waits here: memory stays bounded
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

// plan chooses frames to move and the segment they go to, nil for a new one. The caller holds the lock.
func (r *replay) plan() (frames []frame, to *segment) {
	if r.inMemory <= memoryBudget {
		return nil, nil
	}
	n, size := 0, 0
	for n < len(r.recent)-1 && size < memoryBudget/2 {
		size += len(r.recent[n].data) + frameCost
		n++
	}
	if r.closed {
		r.forget(n)
		return nil, nil
	}
	if k := len(r.segments); k > 0 && r.segments[k-1].size < r.limit/segmentShare {
		to = r.segments[k-1]
	}
	return r.recent[:n:n], to
}

// commit makes written frames readable: segment s becomes next. The caller holds the lock.
func (r *replay) commit(frames []frame, s *segment, next segment, err error) {
	isNew := s != nil && s.count == 0
	switch {
	case r.closed || err != nil && len(r.segments) == 0:
		r.forget(len(frames))
	case err != nil:
		r.drop() // and it is tried again
	default:
		if isNew {
			next.first = r.recentFirst()
			r.segments = append(r.segments, s)
		}
		r.spilled += next.size - s.size
		*s = next
		r.forget(len(frames))
		for r.spilled > r.limit && len(r.segments) > 1 {
			r.drop()
		}
		return
	}
	if isNew {
		s.file.Close()
	}
}

// forget takes the n oldest frames out of memory.
func (r *replay) forget(n int) {
	for _, f := range r.recent[:n] {
		r.inMemory -= len(f.data) + frameCost
	}
	r.recent = append(make([]frame, 0, len(r.recent)), r.recent[n:]...)
}

// drop removes the oldest segment.
func (r *replay) drop() {
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

// write appends frames and returns the segment with them. Readers go no further than the old size until commit.
func (s *segment) write(frames []frame) (next segment, err error) {
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 1<<20)
	at, marks := s.size, s.marks
	for i, f := range frames {
		if (s.count+uint64(i))%markEvery == 0 {
			marks = append(marks, at)
		}
		var head [recordHead]byte
		head[0] = byte(f.stream)
		data := f.data
		if s.keys != nil {
			data = s.keys.Seal(nil, f.data, spillPlace)
		}
		binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
		if _, err := w.Write(head[:]); err != nil {
			return next, err
		}
		if _, err := w.Write(data); err != nil {
			return next, err
		}
		at += recordHead + int64(len(data))
	}
	if err := w.Flush(); err != nil {
		return next, err
	}
	return segment{file: s.file, keys: s.keys, first: s.first, count: s.count + uint64(len(frames)), size: at, marks: marks}, nil
}

// close removes the files.
func (r *replay) close() {
	r.closed = true
	for len(r.segments) > 0 {
		r.drop()
	}
}

// cursor is a reader's place in a replay.
type cursor struct {
	next uint64   // seq
	in   *segment // where at is a place; nil when it is not known
	at   int64    // of next
}

var errDropped = errors.New("frames were dropped before they were read")

// A run is frames that follow a cursor, chosen under the process's lock and read without it: a cold disk and base64
// delay the reader, never the process. What is dropped meanwhile shows as errDropped.
type run struct {
	at     cursor
	to     uint64
	frames []frame // in memory; or else
	from   segment // as it was when the run was chosen
}

// run chooses the frames that are next for a cursor, up to seq to. The caller holds the lock.
func (r *replay) run(c cursor, to uint64) (run, error) {
	if c.next < r.first() {
		return run{}, errDropped
	}
	if first := r.recentFirst(); c.next >= first {
		return run{at: c, to: to, frames: r.recent[c.next-first:]}, nil
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
		return run{}, errDropped
	}
	s := r.segments[i]
	if c.in != s {
		c.in, c.at = s, -1
	}
	return run{at: c, to: to, from: *s}, nil
}

// read appends lines of the run, about limit bytes of them, and says where the next run begins.
func (r run) read(b, id []byte, limit int) ([]byte, cursor, error) {
	if r.frames == nil {
		return r.readFile(b, id, limit)
	}
	c, start := r.at, len(b)
	for _, f := range r.frames {
		if c.next > r.to || len(b)-start >= limit {
			break
		}
		b = appendFrame(b, id, c.next, f)
		c.next++
	}
	c.in = nil
	return b, c, nil
}

// readFile reads records of one segment.
func (r run) readFile(b, id []byte, limit int) ([]byte, cursor, error) {
	c, s, skip := r.at, r.from, uint64(0)
	if c.at < 0 {
		n := c.next - s.first
		c.at, skip = s.marks[n/markEvery], n%markEvery
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, c.at, s.size-c.at), 256<<10)
	f := frame{data: make([]byte, 0, maxFrame)}
	for start := len(b); c.next <= r.to && c.next < s.first+s.count && len(b)-start < limit; {
		var head [recordHead]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return b, c, unreadable(err)
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		c.at += recordHead + int64(n)
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
			plain, err := s.keys.Open(nil, f.data, spillPlace)
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

// unreadable is the error of a file that cannot be read: mostly that it was dropped, and closed with that, in the
// middle of a read.
func unreadable(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errDropped
	}
	return err
}
