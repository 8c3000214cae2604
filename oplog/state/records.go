package state

import "github.com/cairndb/cairn/oplog"

// Records gives applied records by their index. It is the Raft log, which has their bytes anyway and keeps them as
// long as the window wants them (State.FirstRetained). It may have lost some; the window begins behind those.
type Records interface {
	First() oplog.Index // the first record there is; 0: none
	Reader() RecordReader
}

// A RecordReader reads records, mostly one after the other. It is for one goroutine. Close it.
type RecordReader interface {
	// Read is a record's bytes, which belong to the caller. ErrTrimmed: they are not there any more.
	Read(oplog.Index) ([]byte, error)
	Close()
}

// FirstRetained is the first record that the window wants.
func (s *State) FirstRetained() oplog.Index { return s.position().First }
