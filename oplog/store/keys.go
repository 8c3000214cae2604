package store

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// lookup looks up single keys.
type lookup struct {
	reader pebble.Reader
	peeked io.Closer        // releases the last value of Peek; nil for none
	absent *pebble.Iterator // for PeekNew; nil before the first call
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

// PeekNew is Peek for keys that mostly do not exist. It uses the filters of the lowest level too, which holds most
// rows, and so reads no block there for a missing key.
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
		_ = k.absent.Close() // its error was returned
		k.absent = nil
	}
}

// A BaseReader reads the store without the changes of a batch. It may be used while the batch is written, if nothing
// else writes to the store. It is for one goroutine at a time.
type BaseReader struct{ lookup }

// Base returns a reader of the store below the batch. Close it before the batch.
func (b *Batch) Base() *BaseReader { return &BaseReader{lookup{reader: b.s.db}} }

// Close releases the reader.
func (b *BaseReader) Close() { b.release() }
