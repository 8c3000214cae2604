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

// latestWait bounds how long a round of catching up takes.
const latestWait = time.Second

// ErrBehind rejects a token that this node does not know, while it may be behind the cluster.
var ErrBehind = &oplog.Error{Kind: oplog.Unavailable,
	Text: "this node does not know this token, and cannot find out now whether it has just been made; retry, or ask another node"}

// catchUp brings the state up to all that was acknowledged, in rounds: one at a time, with one question to the leader,
// however many callers wait.
type catchUp struct {
	ask  func(context.Context) error // nil: the state is never behind
	turn chan struct{}               // holds a token while a round asks

	mu   sync.Mutex
	next *round // has not asked yet
}

type round struct {
	done chan struct{}
	err  error // set when done is closed
}

// wait returns when the state holds what was acknowledged before the call. It joins the next round, because the current
// one may have asked before. The caller that began a round ends it, even if its client has gone: others wait for it.
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
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.mu.Lock()
	u.next = nil
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), latestWait)
	defer cancel()
	r.err = u.ask(ctx)
	close(r.done)
}

// behind reports whether this node may lack what others have just made.
func (a *Control) behind() bool { return a.latest.ask != nil }

// seek is the caller that a token's hash makes. A token that is not there is looked for again behind all that was
// acknowledged: another node may have made it just now.
func (a *Control) seek(ctx context.Context, hash string) (api.Caller, error) {
	c, known, err := a.holder(hash)
	if known || !a.behind() || !errors.Is(err, ErrToken) {
		return c, err
	}
	if a.latest.wait(ctx) != nil {
		return c, ErrBehind
	}
	c, _, err = a.holder(hash)
	return c, err
}
