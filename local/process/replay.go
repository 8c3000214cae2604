package process

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
)

// stream is where a frame came from.
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

// maxFrame is how much of a stream one frame carries.
const maxFrame = 32 << 10

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

// replay keeps all frames of one process: the newest in memory, the older ones in a file. The process's lock guards it.
//
// The file is records without gaps, stream byte, length u32, data; every markEvery-th record's place is remembered.
type replay struct {
	dir    string
	first  uint64  // seq of the oldest frame that is still there
	recent []frame // the newest
	held   int     // bytes of recent, with what a frame costs beside its data

	file      *os.File
	fileFirst uint64 // seq of the file's first record
	inFile    uint64 // records
	fileEnd   int64
	marks     []int64
	err       error // the file failed: no second one is tried
}

const (
	memoryBudget = 16 << 20 // bytes that stay in memory
	frameCost    = 96       // of a frame beside its data
	markEvery    = 256
	recordHead   = 5
)

func newReplay(dir string) *replay { return &replay{dir: dir, first: 1} }

// last is the newest frame's seq, 0 for none.
func (r *replay) last() uint64 { return r.recentFirst() + uint64(len(r.recent)) - 1 }

func (r *replay) recentFirst() uint64 {
	if r.file == nil {
		return r.first
	}
	return r.fileFirst + r.inFile
}

// add takes a frame whose data is not changed afterwards.
func (r *replay) add(f frame) {
	r.recent = append(r.recent, f)
	if r.held += len(f.data) + frameCost; r.held > memoryBudget {
		r.spill()
	}
}

// spill moves the older half to the file, or, when that fails, away: frames are dropped oldest first, whole.
func (r *replay) spill() {
	n, size := 0, 0
	for n < len(r.recent)-1 && size < memoryBudget/2 {
		size += len(r.recent[n].data) + frameCost
		n++
	}
	old := r.recent[:n]
	if err := r.write(old); err != nil {
		r.err = err
		r.first = r.recentFirst() + uint64(n)
		r.close()
	}
	r.held -= size
	r.recent = append(make([]frame, 0, len(r.recent)), r.recent[n:]...)
}

func (r *replay) write(old []frame) (err error) {
	if r.err != nil {
		return r.err
	}
	if r.file == nil {
		first := r.first
		if r.file, err = os.CreateTemp(r.dir, "replay-*"); err != nil {
			return err
		}
		r.fileFirst = first
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(r.file, r.fileEnd), 1<<20)
	at, marks := r.fileEnd, r.marks
	for i, f := range old {
		if (r.inFile+uint64(i))%markEvery == 0 {
			marks = append(marks, at)
		}
		var head [recordHead]byte
		head[0] = byte(f.stream)
		binary.BigEndian.PutUint32(head[1:], uint32(len(f.data)))
		if _, err := w.Write(head[:]); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
		at += recordHead + int64(len(f.data))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	r.fileEnd, r.marks, r.inFile = at, marks, r.inFile+uint64(len(old))
	return nil
}

// close removes the file.
func (r *replay) close() {
	if r.file != nil {
		r.file.Close()
		os.Remove(r.file.Name())
		r.file, r.inFile, r.fileEnd, r.marks = nil, 0, 0, nil
	}
}

// cursor is a reader's place in a replay.
type cursor struct {
	next uint64 // seq
	at   int64  // of next in the file; -1 when it is not known
}

var errDropped = errors.New("frames were dropped before they were read")

// read appends lines of frames from a cursor on, up to seq to and about limit bytes, and moves it.
func (r *replay) read(b, id []byte, c *cursor, to uint64, limit int) ([]byte, error) {
	if c.next < r.first {
		return b, errDropped
	}
	for start := len(b); c.next <= to && len(b)-start < limit; {
		if i := c.next - r.recentFirst(); c.next >= r.recentFirst() {
			b = appendFrame(b, id, c.next, r.recent[i])
			c.next, c.at = c.next+1, -1
			continue
		}
		var err error
		if b, err = r.readFile(b, id, c, to, limit-(len(b)-start)); err != nil {
			return b, err
		}
	}
	return b, nil
}

// readFile reads records of the file.
func (r *replay) readFile(b, id []byte, c *cursor, to uint64, limit int) ([]byte, error) {
	skip := uint64(0)
	if c.at < 0 {
		i := c.next - r.fileFirst
		c.at, skip = r.marks[i/markEvery], i%markEvery
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, c.at, r.fileEnd-c.at), 256<<10)
	for start := len(b); c.next <= to && c.next < r.recentFirst() && len(b)-start < limit; {
		var head [recordHead]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return b, err
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		if skip > 0 {
			if _, err := in.Discard(n); err != nil {
				return b, err
			}
			skip--
		} else {
			f := frame{stream: stream(head[0]), data: make([]byte, n)}
			if _, err := io.ReadFull(in, f.data); err != nil {
				return b, err
			}
			b = appendFrame(b, id, c.next, f)
			c.next++
		}
		c.at += recordHead + int64(n)
	}
	return b, nil
}
