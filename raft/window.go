package raft

import (
	"errors"
	"sync"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft/logstore"
)

// A Window lets the state read applied records from the member's log (state.Records). It is created before the state
// is opened. Its methods wait until Open has opened the log, or GiveUp was called.
type Window struct {
	logs   *logstore.Store // nil after GiveUp; set before opened is closed
	opened chan struct{}
	once   sync.Once
}

// NewWindow returns a Window for Config.Window.
func NewWindow() *Window { return &Window{opened: make(chan struct{})} }

func (w *Window) open(logs *logstore.Store) {
	w.once.Do(func() {
		w.logs = logs
		close(w.opened)
	})
}

// GiveUp declares that no log will be opened, so there is nothing to read. It does nothing once a log is open.
func (w *Window) GiveUp() { w.open(nil) }

// First implements state.Records.
func (w *Window) First() oplog.Index {
	if <-w.opened; w.logs == nil {
		return 0
	}
	return oplog.Index(w.logs.FirstKept())
}

// Reader implements state.Records.
func (w *Window) Reader() state.RecordReader {
	if <-w.opened; w.logs == nil {
		return noRecords{}
	}
	return windowReader{w.logs.Reader()}
}

type windowReader struct{ *logstore.Reader }

// Read implements state.RecordReader.
func (r windowReader) Read(index oplog.Index) ([]byte, error) {
	l, err := r.Reader.Read(uint64(index))
	switch {
	case errors.Is(err, hraft.ErrLogNotFound) || errors.Is(err, logstore.ErrDamaged): // the store has reported the damage
		return nil, state.ErrTrimmed
	case errors.Is(err, logstore.ErrClosed):
		return nil, oplog.Errorf(oplog.Unavailable, "the node stops")
	case err != nil:
		return nil, err
	case l.Type != hraft.LogCommand:
		return nil, state.ErrTrimmed // the state never gets such a record
	}
	return l.Data, nil
}

type noRecords struct{}

// Read implements state.RecordReader.
func (noRecords) Read(oplog.Index) ([]byte, error) { return nil, state.ErrTrimmed }

// Close implements state.RecordReader.
func (noRecords) Close() {}
