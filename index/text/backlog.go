package text

import (
	"context"
	"sync"
)

// A Backlog bounds the memory that indexes use for rows that Bleve has not stored yet. All indexes of a process share
// one.
type Backlog struct {
	max int

	mu       sync.Mutex
	tail     int           // bytes of rows that Bleve has not taken
	unstored int           // bytes, as they were in the tail, of rows that are not on disk
	shrunk   chan struct{} // closed when either shrinks; nil when no caller waits
}

// NewBacklog returns a backlog in which all tails together hold about this many bytes.
func NewBacklog(bytes int) *Backlog { return &Backlog{max: bytes} }

// unstoredTails limits the rows in segments that are not on disk: to this multiple of the tail's limit, because rows
// are smaller there.
const unstoredTails = 4

func (g *Backlog) add(tail, unstored int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tail += tail
	g.unstored += unstored
	if tail <= 0 && unstored <= 0 && g.shrunk != nil {
		close(g.shrunk)
		g.shrunk = nil
	}
}

// full returns nil when there is room, or else a channel that is closed when there may be room again.
func (g *Backlog) full() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tail < g.max && g.unstored < unstoredTails*g.max {
		return nil
	}
	if g.shrunk == nil {
		g.shrunk = make(chan struct{})
	}
	return g.shrunk
}

// Ready waits until the backlog has room. Callers of ApplyDocuments call it first, where waiting is allowed.
func (x *Index) Ready(ctx context.Context) error {
	for {
		shrunk := x.cfg.Backlog.full() // before x.err is read: an index that fails after this closes shrunk, so the wait below ends
		x.mu.Lock()
		closed, err := x.closed, x.err
		x.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case err != nil:
			return err
		case shrunk == nil || x.store == nil:
			return ctx.Err()
		}
		x.wakeIndexer()
		select {
		case <-shrunk:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// countBytesLocked adds to the bytes that the index holds, and to the backlog.
func (x *Index) countBytesLocked(tail, unstored int) {
	x.tailBytes += tail
	x.unstored += unstored
	if !x.released {
		x.cfg.Backlog.add(tail, unstored)
	}
}

// releaseLocked takes the index out of the backlog: it is closed, or will never give Bleve anything again.
func (x *Index) releaseLocked() {
	if !x.released {
		x.released = true
		x.cfg.Backlog.add(-x.tailBytes, -x.unstored)
	}
}
