// Package large prevents large requests from delaying all others: it reads them into few buffers, and decodes them in
// turns.
//
// Decoding a large request takes a processor for tens of milliseconds, so large ones share a quarter of the
// processors. A buffer of megabytes that grows is copied, which cannot be interrupted: the garbage collector waits
// for the copy, and every goroutine for the collector. The package knows no protocol and holds no rights; every
// surface that reads requests may call it from any goroutine.
package large

import (
	"context"
	"runtime"
)

// From is the least number of bytes that count as large.
const From = 256 << 10

// Turns are the turns of one server: a semaphore with a quarter of the processors.
type Turns chan struct{}

// NewTurns makes the turns of a server.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)/4)) }

// Take waits for a turn, and returns the function that ends it.
func (t Turns) Take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	yieldToOthers()
	return func() { <-t }, nil
}

// yieldToOthers is called before long work. The thread that runs it may be the one that polled the network; the
// scheduler puts another in its place. Otherwise the network is not polled before the runtime's monitor does it, ten
// milliseconds later.
func yieldToOthers() { runtime.Gosched() }

// yieldFrom is the size from which decoding yields first, without a turn.
const yieldFrom = 4 << 10

// Decode runs decode on a text of size bytes, in its turn when that is large.
func (t Turns) Decode(ctx context.Context, size int, decode func() error) error {
	switch {
	case size >= From:
		done, err := t.Take(ctx)
		if err != nil {
			return err
		}
		defer done()
	case size >= yieldFrom:
		yieldToOthers()
	}
	return decode()
}
