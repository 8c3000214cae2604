package store

import "github.com/cockroachdb/pebble/v2"

// An Iter walks keys in order, or back. Key and Value are valid until it moves. One that meets damage says that there is no row, and
// Err says why.
type Iter struct {
	it  *pebble.Iterator
	err error
}

func newIter(r pebble.Reader, lower, upper []byte) (*Iter, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, damageError(err)
	}
	return &Iter{it: it}, nil
}

// First goes to the first row, and the others where they say; false when there is none.
func (i *Iter) First() bool { return i.it.First() }

// Last goes to the last row.
func (i *Iter) Last() bool { return i.it.Last() }

// Next goes on to the following row.
func (i *Iter) Next() bool { return i.it.Next() }

// Prev goes back to the row before.
func (i *Iter) Prev() bool { return i.it.Prev() }

// Key is the row's.
func (i *Iter) Key() []byte { return i.it.Key() }

// Value is the row's; nil when it could not be read, and Err says why.
func (i *Iter) Value() []byte {
	v, err := i.it.ValueAndErr()
	if err != nil {
		i.err = err
		return nil
	}
	return v
}

// Err is what the walk met.
func (i *Iter) Err() error {
	if i.err != nil {
		return damageError(i.err)
	}
	return damageError(i.it.Error())
}

// Close ends the walk.
func (i *Iter) Close() { _ = i.it.Close() } // Err has said what it met
