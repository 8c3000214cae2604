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

// A Reader reads one of the files as it was when it was opened: neither a purge nor an append disturbs it. Close it.
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

// Each walks the events from the oldest on. Lines that are not events are passed over.
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
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(opened(l.keys, line), &e) == nil {
			visit(&e)
		}
	}
	return nil
}

// A Place is the offset of a line, to read on from there.
type Place int64

// Last gives the places of the newest wanted events, oldest first: at most limit, none older than since.
// It reads backwards: its cost grows with the rows that it looks at, not with the file.
func (r *Reader) Last(limit uint64, since uint64, wanted func(*Event) bool) (out []Place, err error) {
	if limit == 0 {
		return nil, nil
	}
	err = r.backwards(func(p Place, line []byte) bool {
		var e Event
		if json.Unmarshal(opened(r.keys, line), &e) != nil {
			return true
		}
		if e.Timestamp < since {
			return false
		}
		if wanted(&e) {
			out = append(out, p)
		}
		return uint64(len(out)) < limit
	})
	slices.Reverse(out)
	return out, err
}

// step is the number of bytes that are read backwards at once, unless a line is longer.
const step = 64 << 10

// backwards walks the complete lines, each with its newline, from the last to the first.
func (r *Reader) backwards(visit func(p Place, line []byte) bool) error {
	var have []byte // the file from `at` on, as far as not yet visited
	for at := r.Size(); at > 0; {
		n := min(at, max(step, int64(len(have)))) // long lines: twice as much each time
		at -= n
		buf := make([]byte, n, n+int64(len(have)))
		if _, err := r.ReadAt(buf, at); err != nil {
			return err
		}
		have = append(buf, have...)
		for len(have) > 0 {
			start := bytes.LastIndexByte(have[:len(have)-1], '\n') + 1
			if start == 0 && at > 0 {
				break // the line begins before what was read
			}
			line := have[start:]
			have = have[:start]
			if bytes.HasSuffix(line, []byte("\n")) && !visit(Place(at+int64(start)), line) { // else torn
				return nil
			}
		}
		if len(have) > journal.MaxLine {
			return kit.ErrLongLine
		}
	}
	return nil
}

// At reads the line at a place.
func (r *Reader) At(p Place) (json.RawMessage, error) {
	line, err := bufio.NewReader(io.NewSectionReader(r, int64(p), r.Size()-int64(p))).ReadBytes('\n')
	return opened(r.keys, line), err
}
