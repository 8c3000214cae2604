package simulation

import (
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// half is one direction of a connection.
type half struct {
	n        *network
	from, to int

	mu              sync.Mutex
	chunks          []chunk
	held            int   // bytes in chunks
	end             bool  // the sender has closed
	err             error // set once the connection is broken
	readBy, writeBy time.Time
	changed         chan struct{}
}

// chunk holds the bytes of one write.
type chunk struct {
	at time.Time // when it arrives
	b  []byte
}

// window is the number of bytes that may be under way in one direction. A writer waits for space.
const window = 4 << 20

func newHalf(n *network, from, to int) *half {
	return &half{n: n, from: from, to: to, changed: make(chan struct{})}
}

// broadcast wakes all waiting readers and writers. The caller holds mu.
func (h *half) broadcast() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *half) setDeadline(at *time.Time, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*at = t
	h.broadcast()
}

func (h *half) closeWrite() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = true
	h.broadcast()
}

func (h *half) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err, h.chunks, h.held = err, nil, 0
	}
	h.broadcast()
}

func (h *half) isBroken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

func (h *half) write(b []byte) (int, error) {
	lag := h.n.lag(h.from, h.to)
	for {
		h.mu.Lock()
		switch {
		case h.err != nil || h.end:
			defer h.mu.Unlock()
			if h.err == nil {
				return 0, net.ErrClosed
			}
			return 0, h.err
		case past(h.writeBy):
			h.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case h.held < window:
			at := time.Now().Add(lag)
			if last := len(h.chunks) - 1; last >= 0 && h.chunks[last].at.After(at) {
				at = h.chunks[last].at // bytes keep their order
			}
			h.chunks = append(h.chunks, chunk{at, slices.Clone(b)})
			h.held += len(b)
			h.broadcast()
			h.mu.Unlock()
			return len(b), nil
		}
		changed, by := h.changed, h.writeBy
		h.mu.Unlock()
		wait(changed, nil, by)
	}
}

func (h *half) read(b []byte) (int, error) {
	for {
		cut, relinked := h.n.link(h.from, h.to)
		h.mu.Lock()
		by := h.readBy
		switch {
		case h.err != nil:
			defer h.mu.Unlock()
			return 0, h.err
		case past(by):
			h.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case cut:
		case len(h.chunks) > 0:
			c := &h.chunks[0]
			if !past(c.at) {
				by = earlier(by, c.at)
				break
			}
			n := copy(b, c.b)
			if c.b = c.b[n:]; len(c.b) == 0 {
				h.chunks = h.chunks[1:]
			}
			h.held -= n
			h.broadcast()
			h.mu.Unlock()
			return n, nil
		case h.end:
			h.mu.Unlock()
			return 0, io.EOF
		}
		changed := h.changed
		h.mu.Unlock()
		wait(changed, relinked, by)
	}
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func wait(a, b <-chan struct{}, by time.Time) {
	var due <-chan time.Time
	if !by.IsZero() {
		t := time.NewTimer(time.Until(by))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-a:
	case <-b:
	case <-due:
	}
}
