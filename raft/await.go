package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// openFutures counts the futures that the library has not answered yet.
type openFutures struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when the last is answered; nil when drain does not wait
}

func (a *openFutures) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n += n; a.n == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// drain waits until every future is answered, at most for patience. It reports whether all are answered.
func (a *openFutures) drain(patience time.Duration) bool {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return true
	}
	if a.idle == nil {
		a.idle = make(chan struct{})
	}
	idle := a.idle
	a.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-idle:
		return true
	case <-t.C:
		return false
	}
}

// await waits for a future of the library. At Shutdown the library drops some futures unanswered, so Close first
// gives it time to answer. The outcome of an unanswered future is unknown.
func (n *Node) await(ctx context.Context, f hraft.Future) error {
	done := make(chan error, 1)
	n.futures.add(1)
	go func() { // leaks if the library never answers
		done <- f.Error()
		n.futures.add(-1)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-n.stopped:
		return hraft.ErrRaftShutdown
	}
}
