// Package large is for what clients send that is large: it is read into few places, and decoded in turn.
//
// What must not happen is that a few clients who send nothing else slow down all the others. To decode a large request takes a
// processor for tens of milliseconds: a quarter of the processors is theirs. And a place of megabytes that grows is copied, which
// cannot be interrupted: the garbage collector waits for the copy, and everybody for the collector.
package large

import (
	"context"
	"runtime"
)

// From is how many bytes are large.
const From = 256 << 10

// Turns are those of one server.
type Turns chan struct{}

// NewTurns makes the turns of a server.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)/4)) }

// Take waits for a turn, and returns what ends it.
func (t Turns) Take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	letIn()
	return func() { <-t }, nil
}

// letIn is called before what takes a while. The thread that waits for the network has perhaps brought this request, and goes on
// with it. The scheduler finds another one for its place; otherwise nobody looks at the network before the runtime's monitor
// does, ten milliseconds later.
func letIn() { runtime.Gosched() }

// middling is how many bytes need no turn and take a while.
const middling = 4 << 10

// Decode runs what decodes a text of so many bytes, in its turn when it is large.
func (t Turns) Decode(ctx context.Context, size int, decode func() error) error {
	switch {
	case size >= From:
		done, err := t.Take(ctx)
		if err != nil {
			return err
		}
		defer done()
	case size >= middling:
		letIn()
	}
	return decode()
}
