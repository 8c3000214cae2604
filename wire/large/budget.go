package large

import "context"

// Budget bounds the memory of large requests, over all surfaces of a node: a request waits for its bytes in turn before it is read.
type Budget struct {
	turn  chan struct{}
	units chan struct{}
}

const (
	budgetUnit  = 64 << 10
	budgetUnits = 4096 // 256 MiB
)

// NewBudget is one of 256 MiB.
func NewBudget() *Budget {
	return &Budget{turn: make(chan struct{}, 1), units: make(chan struct{}, budgetUnits)}
}

// Acquire waits until n bytes are free, and returns what gives them back.
func (b *Budget) Acquire(ctx context.Context, n int) (release func(), ok bool) {
	want := (n + budgetUnit - 1) / budgetUnit
	select {
	case b.turn <- struct{}{}: // one at a time fills up: two halves would wait for each other
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-b.turn }()
	give := func(n int) {
		for range n {
			<-b.units
		}
	}
	for got := range want {
		select {
		case b.units <- struct{}{}:
		case <-ctx.Done():
			give(got)
			return nil, false
		}
	}
	return func() { give(want) }, true
}
