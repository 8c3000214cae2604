package kit

import (
	"context"
	"errors"
	"net"
	"time"
)

// How long Serve waits after a failure: the system is out of descriptors, mostly, and they come back.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = time.Second
)

// Serve accepts connections until the listener is closed or ctx ends, and calls take with each, which must not block. failed is told of
// each failure, and how long it is before the next attempt.
func Serve(ctx context.Context, ln net.Listener, take func(net.Conn), failed func(err error, wait time.Duration)) {
	for wait := firstWait; ; {
		c, err := ln.Accept()
		switch {
		case err == nil:
			wait = firstWait
			take(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		failed(err, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, lastWait)
	}
}
