// Package accept keeps listeners working when the process runs out of file descriptors, and divides the descriptors
// among listeners.
package accept

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Delays between attempts to accept: firstWait, doubled up to lastWait.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = 200 * time.Millisecond
)

// Patiently returns a listener whose Accept fails only after Close. On any other error Accept retries with backoff,
// and logs the beginning and the end of the failure.
func Patiently(ln net.Listener, surface string, log *slog.Logger) net.Listener {
	return &listener{Listener: ln, log: log.With("surface", surface), closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	log    *slog.Logger
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			if wait > firstWait {
				l.log.Info("accepting connections again")
			}
			return c, nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case wait == firstWait:
			l.log.Warn("cannot accept connections; retrying", "err", err)
		}
		select {
		case <-time.After(wait):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Share returns the limit of connections of a listener: most, but at most 1/part of the process's file descriptors.
// The shares of all listeners leave a quarter of the descriptors for files and for connections to peers.
func Share(most, part int) int {
	if n := descriptors(); n > 0 {
		return min(most, max(n/part, 8))
	}
	return most
}
