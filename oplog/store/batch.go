package store

import "github.com/cockroachdb/pebble/v2"

// A Batch collects changes that are committed together. It reads its own changes over the store.
type Batch struct {
	lookup
	s *Store
	b *pebble.Batch
}

// Batch begins a batch. Always close it.
func (s *Store) Batch() *Batch {
	b := s.db.NewIndexedBatch()
	return &Batch{lookup{reader: b}, s, b}
}

// PeekNew is Peek for keys that mostly do not exist.
func (b *Batch) PeekNew(key []byte) (value []byte, ok bool, err error) {
	if b.absent != nil {
		b.absent.SetOptions(&askFilters) // so that it sees later writes
	}
	return b.lookup.PeekNew(key)
}

// Walk implements Reader. It does not see writes after it began, so f may change the rows that it walks.
func (b *Batch) Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error {
	it, err := b.b.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	return walk(it, err, back, f)
}

// Set stores a value.
func (b *Batch) Set(key, value []byte) error { return b.b.Set(key, value, nil) }

// Delete removes a key.
func (b *Batch) Delete(key []byte) error { return b.b.Delete(key, nil) }

// DeleteRange removes all keys from lower to upper, exclusive.
func (b *Batch) DeleteRange(lower, upper []byte) error { return b.b.DeleteRange(lower, upper, nil) }

// Commit makes the changes visible. They are on the disk after the next flush.
func (b *Batch) Commit() error {
	if err := b.s.awaitBuffer(); err != nil {
		return err
	}
	b.release()
	size := b.b.Len()
	if err := b.b.Commit(pebble.NoSync); err != nil {
		return damageError(err)
	}
	b.s.dirty.Store(true) // not before, or a flush that began meanwhile would clear it without this batch
	b.s.countWritten(size)
	return nil
}

// Close releases the batch.
func (b *Batch) Close() {
	b.release()
	_ = b.b.Close() // it fails on nothing
}
