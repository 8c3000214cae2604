package store

import "github.com/cockroachdb/pebble/v2"

// A Finder says which keys are there, as the store was when it began. For keys that mostly are not, it is cheaper than Get: that one takes no
// filter of the lowest level, where most rows lie, and reads a block of it for each key.
type Finder struct{ it *pebble.Iterator }

// Finder begins one. Close it.
func (s *Store) Finder() (*Finder, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, damageError(err)
	}
	return &Finder{it}, nil
}

// Has says whether a key is there.
func (f *Finder) Has(key []byte) (bool, error) {
	if f.it.SeekPrefixGE(key) { // a key is its own prefix
		return true, nil
	}
	return false, damageError(f.it.Error())
}

// Close lets go of it.
func (f *Finder) Close() { _ = f.it.Close() } // Has has said what it met
