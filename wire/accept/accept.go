// Package accept keeps listeners going when the process is out of descriptors, and shares the descriptors out among
// them.
package accept

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// A failed attempt is repeated after firstWait, then after twice as long, up to lastWait.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = 200 * time.Millisecond
)

// Patiently returns a listener whose Accept fails only once it is closed. Any other failure is logged when it begins
// and when it is over; Accept backs off and tries again.
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

// Share returns how many connections a listener may hold: at most most, and one part of the descriptors that this
// process may open. The parts of all listeners leave a quarter of the descriptors for files and for connections to
// peers.
func Share(most, part int) int {
	if n := descriptors(); n > 0 {
		return min(most, max(n/part, 8))
	}
	return most
}
