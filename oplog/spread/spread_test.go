package spread

import (
	"sync/atomic"
	"testing"
)

// TestEachOnce: every place is visited once, whatever there is to do.
func TestEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 16, 100, 1023} {
		visits := make([]atomic.Int32, n)
		Over(n, 8, func(from, to int) {
			for i := from; i < to; i++ {
				visits[i].Add(1)
			}
		})
		for i := range visits {
			if got := visits[i].Load(); got != 1 {
				t.Fatalf("place %d of %d was visited %d times", i, n, got)
			}
		}
	}
}
