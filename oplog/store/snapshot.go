package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// A Snapshot is the store as it was when it was taken. Close it soon: what it sees stays on the disk. It is for one
// goroutine at a time.
//
// It is an iterator, which pins the tables and buffers there are. A snapshot of pebble's own would wait, when it is
// closed, for the list of tables to be synced, and readers with it.
type Snapshot struct{ it *pebble.Iterator }

// Snapshot returns a snapshot of the store.
func (s *Store) Snapshot() (*Snapshot, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return nil, damageError(err)
	}
	return &Snapshot{it}, nil
}

// Peek implements Reader. Keys that are requested in ascending order cost a little less, for the table that the last
// one was in need not be opened again.
func (s *Snapshot) Peek(key []byte) (value []byte, ok bool, err error) {
	return peek(s.it, key)
}

func peek(it *pebble.Iterator, key []byte) (value []byte, ok bool, err error) {
	if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) { // a key is its own prefix: filters are asked
		return nil, false, damageError(it.Error())
	}
	if value, err = it.ValueAndErr(); err != nil {
		return nil, false, damageError(err)
	}
	return value, true, nil
}

// Walk implements Reader.
func (s *Snapshot) Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error {
	it, err := s.it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{LowerBound: lower, UpperBound: upper}})
	return walk(it, err, back, f)
}

// Close releases the snapshot.
func (s *Snapshot) Close() { _ = s.it.Close() } // what it met was told
