package store

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// A Before reads what was there before a batch. While nothing else writes to the store it may be asked while the batch
// is written, and is for one goroutine at a time.
type Before struct {
	db     *pebble.DB
	absent *pebble.Iterator
	peeked io.Closer // as of a Batch
}

// Before begins to read. Close it before the batch ends.
func (b *Batch) Before() (*Before, error) {
	it, err := b.s.db.NewIter(&askFilters)
	if err != nil {
		return nil, damageError(err)
	}
	return &Before{db: b.s.db, absent: it}, nil
}

// Peek returns the value of a key, until the next call.
func (b *Before) Peek(key []byte) (value []byte, ok bool, err error) {
	b.letGo()
	value, b.peeked, err = b.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, damageError(err)
}

// PeekNew is Peek for keys that mostly are not there.
func (b *Before) PeekNew(key []byte) (value []byte, ok bool, err error) {
	return peek(b.absent, key)
}

func (b *Before) letGo() {
	if b.peeked != nil {
		_ = b.peeked.Close() // the value was read
		b.peeked = nil
	}
}

// Close lets go of it.
func (b *Before) Close() {
	b.letGo()
	_ = b.absent.Close() // what it met was told
}
