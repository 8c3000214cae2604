package store

import "github.com/cockroachdb/pebble/v2"

// A Batch gathers changes that are made together. It reads what it has written over what was there.
type Batch struct {
	lookup
	s *Store
	b *pebble.Batch
}

// Batch begins one. Close it, whatever becomes of it.
func (s *Store) Batch() *Batch {
	b := s.db.NewIndexedBatch()
	return &Batch{lookup{reader: b}, s, b}
}

// PeekNew is Peek for keys that mostly are not there.
func (b *Batch) PeekNew(key []byte) (value []byte, ok bool, err error) {
	if b.absent != nil {
		b.absent.SetOptions(&askFilters) // it sees what was written since
	}
	return b.lookup.PeekNew(key)
}

// Walk implements Reader. It sees nothing that is written after it began, so f may change what it walks.
func (b *Batch) Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error {
	it, err := b.b.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	return walk(it, err, back, f)
}

// Set stores a value.
func (b *Batch) Set(key, value []byte) error { return b.b.Set(key, value, nil) }

// Delete takes a key away.
func (b *Batch) Delete(key []byte) error { return b.b.Delete(key, nil) }

// DeleteRange takes all keys away from lower to upper, not included.
func (b *Batch) DeleteRange(lower, upper []byte) error { return b.b.DeleteRange(lower, upper, nil) }

// Commit makes the changes. They are seen from then on, and on the disk after the next flush.
func (b *Batch) Commit() error {
	if err := b.s.awaitBuffer(); err != nil {
		return err
	}
	b.s.dirty.Store(true)
	b.release()
	size := b.b.Len()
	if err := b.b.Commit(pebble.NoSync); err != nil {
		return damageError(err)
	}
	b.s.countWritten(size)
	return nil
}

// Close lets go of a batch.
func (b *Batch) Close() {
	b.release()
	_ = b.b.Close() // it fails on nothing
}
