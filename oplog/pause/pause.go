// Package pause waits for a time that may be cut short.
package pause

import (
	"context"
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
