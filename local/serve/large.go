package serve

import (
	"context"

	"github.com/cairndb/cairn/wire/large"
)

// LargeRequest is from how many bytes on a request needs a place: decoded it is many times its size.
const LargeRequest = 1 << 20

// Large bounds the resources of large requests: their memory, by places in which they are read and answered, and their
// use of the processors, by turns in which they are decoded.
type Large struct {
	places chan struct{}
	large.Turns
}

// NewLarge has so many places.
func NewLarge(places int) Large { return Large{make(chan struct{}, places), large.NewTurns()} }

// Place waits for a place, and returns the function that gives it back, which may be called after an error too.
func (l Large) Place(ctx context.Context) (leave func(), err error) {
	select {
	case l.places <- struct{}{}:
		return l.leave, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// TryPlace is Place for callers that do not wait: ok is false when no place is free.
func (l Large) TryPlace() (leave func(), ok bool) {
	select {
	case l.places <- struct{}{}:
		return l.leave, true
	default:
		return nil, false
	}
}

func (l Large) leave() { <-l.places }

// Taken returns the number of places in use.
func (l Large) Taken() int { return len(l.places) }
