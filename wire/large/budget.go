package large

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Budget bounds the memory of large requests, over all surfaces of a node: a request waits for its bytes in turn before it is read.
type Budget struct{ bytes *semaphore.Weighted }

// budget is how many bytes there are: 256 MiB.
const budget = 256 << 20

// NewBudget is one of 256 MiB.
func NewBudget() *Budget { return &Budget{semaphore.NewWeighted(budget)} }

// Acquire waits until n bytes are free, and returns the function that gives them back. Requests get them in the order in which they came.
func (b *Budget) Acquire(ctx context.Context, n int) (release func(), ok bool) {
	if b.bytes.Acquire(ctx, int64(n)) != nil {
		return nil, false
	}
	return func() { b.bytes.Release(int64(n)) }, true
}
