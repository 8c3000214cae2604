package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
)

// catchUpTimeout bounds the time of a round of catching up.
const catchUpTimeout = time.Second

// ErrBehind rejects a token that this node does not know, while the node may be behind the cluster.
var ErrBehind = &oplog.Error{Kind: oplog.Unavailable,
	Text: "this node does not know this token, and cannot find out now whether it has just been made; retry, or ask another node"}

// A catchUp brings the state up to everything that was acknowledged, in rounds. One round runs at a time, with one
// question to the leader, however many callers wait.
type catchUp struct {
	ask     func(context.Context) error // nil: the state is never behind
	running chan struct{}               // a semaphore: held while a round runs

	mu   sync.Mutex
	next *round // the round that has not started yet
}

type round struct {
	done chan struct{}
	err  error // set before done is closed
}

// wait returns once the state has everything that was acknowledged before the call. It joins the next round, because
// the current one may have asked the leader before. The caller that starts a round completes it even if its client
// has left, because others wait for it.
func (u *catchUp) wait(ctx context.Context) error {
	u.mu.Lock()
	r := u.next
	begins := r == nil
	if begins {
		r = &round{done: make(chan struct{})}
		u.next = r
	}
	u.mu.Unlock()
	if begins {
		u.run(r)
	}
	if _, err := pause.Until(ctx, r.done); err != nil {
		return err
	}
	return r.err
}

func (u *catchUp) run(r *round) {
	u.running <- struct{}{}
	defer func() { <-u.running }()
	u.mu.Lock()
	u.next = nil
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTimeout)
	defer cancel()
	r.err = u.ask(ctx)
	close(r.done)
}

// mayBeBehind reports whether this node may lack what other nodes have just written.
func (a *Control) mayBeBehind() bool { return a.latest.ask != nil }

// findCaller returns the caller of a token's hash. If the token is unknown, it catches up with the leader and looks
// again, because another node may have just created it.
func (a *Control) findCaller(ctx context.Context, hash string) (api.Caller, error) {
	c, known, err := a.callerOf(hash)
	if known || !a.mayBeBehind() || !errors.Is(err, ErrToken) {
		return c, err
	}
	if a.latest.wait(ctx) != nil {
		return c, ErrBehind
	}
	c, _, err = a.callerOf(hash)
	return c, err
}
