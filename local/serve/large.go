package serve

import (
	"context"

	"github.com/cairndb/cairn/wire/large"
)

// LargeRequest is the size in bytes above which a request needs a slot, because a decoded request takes many times
// its size in memory.
const LargeRequest = 1 << 20

// Large limits the resources of large requests. Slots limit their memory: a request holds one while it is read and
// answered. Turns limit the processors that decode them.
type Large struct {
	slots chan struct{}
	large.Turns
}

// NewLarge returns a Large with a number of slots.
func NewLarge(slots int) Large { return Large{make(chan struct{}, slots), large.NewTurns()} }

// Acquire waits for a slot and returns the function that releases it. After an error, the function does nothing.
func (l Large) Acquire(ctx context.Context) (leave func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return l.release, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// TryAcquire acquires a slot if one is free. It does not wait.
func (l Large) TryAcquire() (leave func(), ok bool) {
	select {
	case l.slots <- struct{}{}:
		return l.release, true
	default:
		return nil, false
	}
}

func (l Large) release() { <-l.slots }

// InUse returns the number of slots in use.
func (l Large) InUse() int { return len(l.slots) }
