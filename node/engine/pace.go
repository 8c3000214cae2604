package engine

import (
	"context"
	"runtime"
	"time"
)

// How a round of cognition yields to recalls: it works for a moment and then rests for several, so that it takes no
// more than a fifth of one core while recalls run, and none of them waits long behind it.
const (
	workSlice   = 3 * time.Millisecond
	restShare   = 2 // times as long as the work
	longestRest = 20 * time.Millisecond
)

// pace makes the function that a round of cognition calls every few rows. It costs a look at the clock until the slice is
// over. When no recall is under way, the round goes on at once.
func (s *Service) pace(ctx context.Context) func() {
	began := time.Now()
	return func() {
		worked := time.Since(began)
		if worked < workSlice {
			return
		}
		if s.load.asking.Load() == 0 {
			runtime.Gosched()
		} else {
			t := time.NewTimer(min(restShare*worked, longestRest))
			select {
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
		}
		began = time.Now()
	}
}
