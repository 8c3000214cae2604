package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/oplog/seal"
)

// eachLine walks a file from its beginning. The slice is the walk's own.
func eachLine(f io.ReaderAt, visit func(line []byte, complete bool) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxLine {
				return fmt.Errorf("audit: a line is over %d bytes", maxLine)
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		body, complete := bytes.CutSuffix(line, []byte("\n"))
		if len(line) > 0 {
			if err := visit(body, complete); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
		long = long[:0]
	}
}

// Each walks the events from the oldest on. Lines that are no events are passed over.
func (l *Log) Each(visit func(*Event) error) error {
	f, err := os.Open(filepath.Join(l.dir, eventsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, func(line []byte, complete bool) error {
		var e Event
		if !complete || json.Unmarshal(opened(l.keys, line), &e) != nil {
			return nil
		}
		return visit(&e)
	})
}

// A Place is where a line begins, for reading on from there.
type Place int64

// Last gives the places of the newest events that keep wants, oldest first: at most limit, none older than since.
// It reads backwards, so it costs what it looks at.
func (r *Reader) Last(limit uint64, since uint64, keep func(*Event) bool) ([]Place, error) {
	var out []Place
	if limit == 0 {
		return nil, nil
	}
	err := eachBackwards(r.f, func(at int64, line []byte) bool {
		var e Event
		if json.Unmarshal(opened(r.keys, line), &e) != nil {
			return true
		}
		if e.Timestamp < since {
			return false
		}
		if keep(&e) {
			out = append(out, Place(at))
		}
		return uint64(len(out)) < limit
	})
	slices.Reverse(out)
	return out, err
}

const step = 64 << 10

// eachBackwards walks the complete lines from the last to the first.
func eachBackwards(f *os.File, visit func(at int64, line []byte) bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var have []byte // the file from `at` on, as far as not yet visited
	at := info.Size()
	first := true
	for at > 0 {
		n := min(at, max(step, int64(len(have)))) // long lines: twice as much each time
		at -= n
		buf := make([]byte, n, n+int64(len(have)))
		if _, err := f.ReadAt(buf, at); err != nil {
			return err
		}
		have = append(buf, have...)
		for {
			end := bytes.LastIndexByte(have, '\n')
			if end < 0 {
				break
			}
			if first { // what follows the last newline is torn
				have, first = have[:end+1], false
			}
			start := bytes.LastIndexByte(have[:len(have)-1], '\n') + 1
			if start == 0 && at > 0 {
				break
			}
			if !visit(at+int64(start), have[start:len(have)-1]) {
				return nil
			}
			if have = have[:start]; start == 0 {
				break
			}
		}
		if len(have) > maxLine {
			return fmt.Errorf("audit: a line is over %d bytes", maxLine)
		}
	}
	return nil
}

// A Reader reads events at places. Close it.
type Reader struct {
	f    *os.File
	keys *seal.Ring
}

// Reader opens the events for reading as they are now: a purge does not disturb it.
func (l *Log) Reader() (*Reader, error) {
	f, err := os.Open(filepath.Join(l.dir, eventsFile))
	return &Reader{f, l.keys}, err
}

// At reads the line at a place.
func (r *Reader) At(p Place) (json.RawMessage, error) {
	line, err := bufio.NewReader(io.NewSectionReader(r.f, int64(p), maxLine)).ReadBytes('\n')
	return opened(r.keys, bytes.TrimSuffix(line, []byte("\n"))), err
}

// Close closes the reader.
func (r *Reader) Close() error { return r.f.Close() }
