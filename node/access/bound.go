package access

import (
	"context"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// lasting is a request that ends with its caller's rights.
type lasting struct {
	c   api.Caller
	end context.CancelCauseFunc
}

// Bound returns a context for a request that may last: it ends when the caller's token is revoked or expires, or when
// its database is dropped. Its cause says which. A surface calls it before it hands a stream to the code that reads or
// writes it; done is called when the request is over.
func (a *Control) Bound(ctx context.Context, c api.Caller) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	b := &lasting{c, end}
	a.mu.Lock()
	a.open[b] = struct{}{}
	a.mu.Unlock()
	expiry, err := a.standing(c) // after it was added: what ends from here on ends it
	if err != nil {
		end(err)
	}
	stop := func() bool { return true }
	if expiry > 0 {
		stop = time.AfterFunc(expiry.Time().Sub(a.now()), func() { end(ErrToken) }).Stop
	}
	return ctx, sync.OnceFunc(func() {
		stop()
		a.mu.Lock()
		delete(a.open, b)
		a.mu.Unlock()
		end(nil)
	})
}

// Holds reports whether a caller that was let in may stay.
func (a *Control) Holds(c api.Caller) bool {
	_, err := a.standing(c)
	return err == nil
}

// standing says when a caller's rights expire, 0 for never, and why it may not stay: its token is unknown, revoked or
// expired, or its database is gone. A state that cannot be read ends nothing; nor does one that lacks a token or a
// database, while it lacks what the node had before its start.
func (a *Control) standing(c api.Caller) (expiry oplog.Time, refused error) {
	whole := a.whole == nil || a.whole() // before: what was not there may be a moment later
	_ = a.state.Look(func(v *state.View) {
		if c.Token != "" {
			t, known := v.Token(c.Token)
			if !known && whole || known && !a.valid(t) {
				refused = ErrToken
				return
			}
			expiry = t.Expires
		}
		if c.Until != 0 && (expiry == 0 || c.Until < expiry) {
			expiry = c.Until
		}
		if _, known := v.Database(c.DB); !known && whole && c.Database != "" {
			refused = oplog.Errorf(oplog.NotFound, "database '%s' not found", c.Database)
		}
	})
	return expiry, refused
}

// endBound ends the requests whose callers may not stay.
func (a *Control) endBound() {
	a.mu.Lock()
	all := make([]*lasting, 0, len(a.open))
	for b := range a.open {
		all = append(all, b)
	}
	a.mu.Unlock()
	for _, b := range all {
		if _, err := a.standing(b.c); err != nil {
			b.end(err)
		}
	}
}
