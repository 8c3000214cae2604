// Package pause waits, once or again and again, until it is cut short.
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
	_, err := Until(ctx, time.After(d))
	return err
}

// Until returns what a channel gives, and zero when it is closed, or the error of ctx when that ends before.
func Until[T any](ctx context.Context, from <-chan T) (v T, err error) {
	select {
	case v = <-from:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return v, err
}

// Received yields what a channel gives, until done is closed.
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

// Ticks yields the time at intervals, until done is closed.
func Ticks(done <-chan struct{}, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		Received(done, tick.C)(yield)
	}
}

// Offer puts a value into a channel that has room for it, and waits for nothing.
func Offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}
