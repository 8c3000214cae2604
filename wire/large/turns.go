// Package large prevents large requests from delaying others: it limits their buffers, and lets few of them decode at
// a time.
//
// Decoding a large request occupies a processor for tens of milliseconds, so large requests share a quarter of the
// processors. Growing a buffer of megabytes copies it, and the copy cannot be preempted: the garbage collector waits
// for the copy, and all goroutines for the collector. The package is independent of protocols and safe for concurrent
// use.
package large

import (
	"context"
	"runtime"
)

// From is the size in bytes from which requests count as large.
const From = 256 << 10

// Turns is a server's semaphore for large requests, with a quarter of the processors.
type Turns chan struct{}

// NewTurns returns the turns of a server.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)/4)) }

// Take waits for a turn and returns the function that ends it.
func (t Turns) Take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	yieldToOthers()
	return func() { <-t }, nil
}

// yieldToOthers is called before long work. The current thread may be the one that polled the network; yielding lets
// the scheduler replace it. Otherwise the network is not polled until the runtime's monitor does it 10 ms later.
func yieldToOthers() { runtime.Gosched() }

// yieldFrom is the size from which Decode yields before decoding, but needs no turn.
const yieldFrom = 4 << 10

// Decode runs decode for a text of size bytes. If the text is large, it first waits for a turn.
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
