// Package pause waits for a time, a channel or a ticker, until a context or channel ends the wait.
package pause

import (
	"context"
	"iter"
	"time"
)

// For waits for a duration. If ctx ends first, it returns the error of ctx.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	_, err := Until(ctx, time.After(d))
	return err
}

// Until receives a value from a channel; a closed channel gives the zero value. If ctx ends first, it returns the
// error of ctx.
func Until[T any](ctx context.Context, from <-chan T) (v T, err error) {
	select {
	case v = <-from:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return v, err
}

// Received yields the values of a channel until done is closed.
func Received[T any](done <-chan struct{}, from <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			select {
			case <-done:
				return
			case v := <-from:
				if !yield(v) {
					return
				}
			}
		}
	}
}

// Ticks yields the time at intervals until done is closed.
func Ticks(done <-chan struct{}, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		Received(done, tick.C)(yield)
	}
}

// Offer sends a value on a channel if it has room, and drops the value otherwise.
func Offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}
