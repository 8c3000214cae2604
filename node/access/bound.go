package access

import (
	"context"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A boundRequest is a request that ends with its caller's rights.
type boundRequest struct {
	c   api.Caller
	end context.CancelCauseFunc
}

// Bound returns a context for a long request. It ends when the caller's token is revoked or expires, or when its
// database is dropped; its cause tells which. A surface calls it before it starts to read or write a stream, and
// calls done at the end of the request.
func (a *Control) Bound(ctx context.Context, c api.Caller) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	b := &boundRequest{c, end}
	a.mu.Lock()
	a.open[b] = struct{}{}
	a.mu.Unlock()
	expiry, err := a.checkRights(c) // after the request was added, so that later changes end it
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

// Holds reports whether a caller still has its rights.
func (a *Control) Holds(c api.Caller) bool {
	_, err := a.checkRights(c)
	return err == nil
}

// checkRights returns when a caller's rights expire, 0 for never, and an error if they have ended: its token is
// unknown, revoked or expired, or its database does not exist. It returns no error if the state cannot be read, or
// lacks the token or the database because the node has not yet applied its log again.
func (a *Control) checkRights(c api.Caller) (expiry oplog.Time, refused error) {
	whole := a.complete == nil || a.complete() // read first: a missing row may be applied a moment later
	_ = a.state.Inspect(func(v *state.View) {
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

// endRequests ends the requests whose callers have lost their rights.
func (a *Control) endRequests() {
	a.mu.Lock()
	all := make([]*boundRequest, 0, len(a.open))
	for b := range a.open {
		all = append(all, b)
	}
	a.mu.Unlock()
	for _, b := range all {
		if _, err := a.checkRights(b.c); err != nil {
			b.end(err)
		}
	}
}
