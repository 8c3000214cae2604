//go:build soak

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/cairndb/cairn/cmd/lab/history"
)

// A historyWriter writes a history. It is safe for concurrent use.
type historyWriter struct {
	mu  sync.Mutex
	out *bufio.Writer
	err error
}

// newHistory returns a writer to out, which the caller closes after flush.
func newHistory(out io.Writer) *historyWriter {
	return &historyWriter{out: bufio.NewWriterSize(out, 1<<16)}
}

// note adds a record. flush reports earlier errors.
func (w *historyWriter) note(r history.Record) {
	b, err := json.Marshal(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.out.Write(append(b, '\n'))
	}
	w.err = errors.Join(w.err, err)
}

// flush writes all records to the file.
func (w *historyWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.err, w.out.Flush())
}
