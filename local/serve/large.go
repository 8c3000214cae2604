package serve

import (
	"context"

	"github.com/cairndb/cairn/wire/large"
)

// LargeRequest is the size in bytes from which a request needs a slot. Decoded, it takes many times its size.
const LargeRequest = 1 << 20

// Large bounds what large requests use. Slots bound their memory: a request holds one while it is read and answered.
// Turns bound the processors that decode them.
type Large struct {
	slots chan struct{}
	large.Turns
}

// NewLarge returns a Large with n slots.
func NewLarge(places int) Large { return Large{make(chan struct{}, places), large.NewTurns()} }

// Acquire waits for a slot and returns the function that releases it. The caller may call it after an error too.
func (l Large) Acquire(ctx context.Context) (leave func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return l.release, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// TryAcquire returns false if no slot is free. It does not wait.
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
