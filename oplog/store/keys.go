package store

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// lookup looks up one key after the other.
type lookup struct {
	reader pebble.Reader
	peeked io.Closer        // lets go of the value that Peek returned last; nil for none
	absent *pebble.Iterator // of PeekNew; nil before the first
}

// Peek implements Reader.
func (k *lookup) Peek(key []byte) (value []byte, ok bool, err error) {
	if k.peeked != nil {
		_ = k.peeked.Close() // the value was read
	}
	value, k.peeked, err = k.reader.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, damageError(err)
}

var askFilters = pebble.IterOptions{UseL6Filters: true}

// PeekNew is Peek for keys that mostly are not there: it asks the filters of the lowest level too, where most rows
// lie, in place of reading a block of it for each key.
func (k *lookup) PeekNew(key []byte) (value []byte, ok bool, err error) {
	if k.absent == nil {
		if k.absent, err = k.reader.NewIter(&askFilters); err != nil {
			return nil, false, damageError(err)
		}
	}
	return peek(k.absent, key)
}

func (k *lookup) release() {
	if k.peeked != nil {
		_ = k.peeked.Close() // the value was read
		k.peeked = nil
	}
	if k.absent != nil {
		_ = k.absent.Close() // what it met was told
		k.absent = nil
	}
}

// A BaseReader reads what was there before a batch. While nothing else writes to the store it may be asked while the
// batch is written, and is for one goroutine at a time.
type BaseReader struct{ lookup }

// Base begins to read. Close it before the batch ends.
func (b *Batch) Base() *BaseReader { return &BaseReader{lookup{reader: b.s.db}} }

// Close lets go of it.
func (b *BaseReader) Close() { b.release() }
