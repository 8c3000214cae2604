package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// unanswered counts what the library was asked and has not answered.
type unanswered struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when the last is answered; nil when nobody waits for that
}

func (a *unanswered) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n += n; a.n == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// drain waits until everything is answered, but not for ever.
func (a *unanswered) drain(patience time.Duration) {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return
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
	case <-t.C:
	}
}

// await waits for what the library was asked. It forgets to answer some of what is under way when it shuts down, so Close
// lets it answer first; the outcome of what is left is unknown, as it is when ctx ends first.
func (n *Node) await(ctx context.Context, f hraft.Future) error {
	done := make(chan error, 1)
	n.pending.add(1)
	go func() { // left behind, with the library's own state, when it never answers
		done <- f.Error()
		n.pending.add(-1)
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
