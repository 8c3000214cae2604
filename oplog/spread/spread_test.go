package spread

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestEachOnce: every index is visited exactly once, whatever the number of items.
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

// TestAPanicIsTheCallers: a panic in any stretch is passed to the caller after all other stretches are done.
func TestAPanicIsTheCallers(t *testing.T) {
	n := 8 * runtime.GOMAXPROCS(0)
	for bad := 0; bad < n; bad += 8 {
		var done atomic.Int32
		func() {
			defer func() {
				if p := recover(); p != "bad" {
					t.Errorf("place %d: the caller got %v", bad, p)
				}
			}()
			Over(n, 8, func(from, to int) {
				if from == bad {
					panic("bad")
				}
				done.Add(1)
			})
		}()
		if got := int(done.Load()); got != n/8-1 {
			t.Errorf("place %d: %d of %d other stretches were done", bad, got, n/8-1)
		}
	}
}
