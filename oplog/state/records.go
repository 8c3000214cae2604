package state

import "github.com/cairndb/cairn/oplog"

// Records reads applied records by index. The Raft log implements it: it has their bytes anyway, and keeps them as
// long as the window needs them (State.FirstRetained). If it has lost some, the window begins after those.
type Records interface {
	First() oplog.Index // the first available record; 0: none
	Reader() RecordReader
}

// A RecordReader reads records, mostly one after the other. It is for one goroutine. Close it.
type RecordReader interface {
	// Read returns a record's bytes, which belong to the caller. ErrTrimmed says that the log no longer has them.
	Read(oplog.Index) ([]byte, error)
	Close()
}

// FirstRetained returns the first record that the window needs.
func (s *State) FirstRetained() oplog.Index { return s.position().First }
