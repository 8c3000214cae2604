package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"

	"github.com/cairndb/cairn/local/covenant/journal"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
)

// A Reader reads one of the files as it was when it was opened: later purges and appends do not affect it. The caller
// closes it.
type Reader struct {
	*io.SectionReader
	file *os.File
	keys *seal.Ring
}

// Reader opens the events for reading.
func (l *Log) Reader() (*Reader, error) { return l.read(eventsFile) }

func (l *Log) read(name string) (*Reader, error) {
	f, err := os.Open(l.path(name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Reader{io.NewSectionReader(f, 0, info.Size()), f, l.keys}, nil
}

// Close closes the reader.
func (r *Reader) Close() error { return r.file.Close() }

// Each calls visit with the events, oldest first. It skips lines that are not events.
func (l *Log) Each(visit func(*Event)) error {
	r, err := l.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	for line, err := range journal.Lines(r) {
		if err != nil {
			return err
		}
		var e Event
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(openLine(l.keys, line), &e) == nil {
			visit(&e)
		}
	}
	return nil
}

// Offset is the byte offset of a line.
type Offset int64

// Last returns the offsets of the newest matching events, oldest first: at most limit, none older than since. It
// reads backwards, so its cost depends on the events that it visits and not on the size of the file.
func (r *Reader) Last(limit uint64, since uint64, match func(*Event) bool) (out []Offset, err error) {
	if limit == 0 {
		return nil, nil
	}
	err = r.backwards(func(p Offset, line []byte) bool {
		var e Event
		if json.Unmarshal(openLine(r.keys, line), &e) != nil {
			return true
		}
		if e.Timestamp < since {
			return false
		}
		if match(&e) {
			out = append(out, p)
		}
		return uint64(len(out)) < limit
	})
	slices.Reverse(out)
	return out, err
}

// readSize is the number of bytes of one backward read. A longer line needs a larger read.
const readSize = 64 << 10

// backwards calls visit with the complete lines, including their newlines, from the last to the first, until visit
// returns false.
func (r *Reader) backwards(visit func(p Offset, line []byte) bool) error {
	var unvisited []byte // bytes that were read, from at on, and not visited yet
	for at := r.Size(); at > 0; {
		n := min(at, max(readSize, int64(len(unvisited)))) // doubles for long lines
		at -= n
		buf := make([]byte, n, n+int64(len(unvisited)))
		if _, err := r.ReadAt(buf, at); err != nil {
			return err
		}
		unvisited = append(buf, unvisited...)
		for len(unvisited) > 0 {
			start := bytes.LastIndexByte(unvisited[:len(unvisited)-1], '\n') + 1
			if start == 0 && at > 0 {
				break // the line begins before at
			}
			line := unvisited[start:]
			unvisited = unvisited[:start]
			if bytes.HasSuffix(line, []byte("\n")) && !visit(Offset(at+int64(start)), line) { // skips an incomplete line
				return nil
			}
		}
		if len(unvisited) > journal.MaxLine {
			return kit.ErrLongLine
		}
	}
	return nil
}

// At returns the line at an offset.
func (r *Reader) At(p Offset) (json.RawMessage, error) {
	line, err := bufio.NewReader(io.NewSectionReader(r, int64(p), r.Size()-int64(p))).ReadBytes('\n')
	return openLine(r.keys, line), err
}
