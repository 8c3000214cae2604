// Package pause waits, once or at intervals, until it is cut short.
package pause

import (
	"context"
	"iter"
	"time"
)

// For returns after a while, or with its error when ctx ends.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Ticks yields the time at intervals, until done is closed.
func Ticks(done <-chan struct{}, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if !yield(now) {
					return
				}
			}
		}
	}
}
