// Package statetest provides states without a Raft log for tests: a Log in memory holds the records that are applied
// to them, and the state's window reads it.
package statetest

import (
	"bytes"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A Log has records in memory. It implements state.Records.
type Log struct {
	mu      sync.Mutex
	first   oplog.Index
	records map[oplog.Index][]byte
}

// NewLog returns a log of the given records.
func NewLog(records ...oplog.Record) *Log {
	l := &Log{records: map[oplog.Index][]byte{}}
	l.Keep(records...)
	return l
}

// Keep adds records to the log.
func (l *Log) Keep(records ...oplog.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		if l.records[r.Index] = r.Data; l.first == 0 || r.Index < l.first {
			l.first = r.Index
		}
	}
}

// Change replaces a record's bytes.
func (l *Log) Change(at oplog.Index, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records[at] = data
}

// First implements state.Records.
func (l *Log) First() oplog.Index {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Reader implements state.Records.
func (l *Log) Reader() state.RecordReader { return reader{l} }

type reader struct{ *Log }

// Read implements state.RecordReader.
func (r reader) Read(at oplog.Index) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, ok := r.records[at]
	if !ok {
		return nil, state.ErrTrimmed
	}
	return bytes.Clone(data), nil
}

// Close implements state.RecordReader.
func (reader) Close() {}

// State is a state with its log in memory.
type State struct {
	*state.State
	Log *Log
}

// Open opens a state. A log may outlive it, and serve the next state that is opened in its directory.
func Open(dir string, o state.Options, log *Log) (*State, error) {
	o.Records = log
	s, err := state.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &State{s, log}, nil
}

// Apply adds the records to the log and applies them.
func (s *State) Apply(batch []oplog.Record) ([]oplog.Outcome, error) {
	s.Log.Keep(batch...)
	return s.State.Apply(batch)
}
