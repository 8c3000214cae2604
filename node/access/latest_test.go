package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// TestMadeUpTokensAskTheLeaderLittle checks that concurrent unknown tokens share one question to the leader, which
// takes a bounded time, and that an address over its rate causes none.
func TestMadeUpTokensAskTheLeaderLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newState(t)
		var asked, under, most atomic.Int32
		var silent atomic.Bool
		a := New(Config{State: st, FailedLogins: 3, Latest: func(ctx context.Context) error {
			asked.Add(1)
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			wait := 10 * time.Millisecond
			if silent.Load() {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		start, slow := time.Now(), (*Limited)(nil)
		all := func(want error) {
			t.Helper()
			var logins sync.WaitGroup
			for i := range 200 {
				logins.Go(func() {
					if _, err := a.Login(t.Context(), fmt.Sprintf("192.0.2.%d:1", i), fmt.Sprint("made up ", i)); !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				})
			}
			logins.Wait()
		}
		all(ErrToken)
		if n := asked.Load(); n > 2 || most.Load() > 1 {
			t.Errorf("200 logins at once asked %d times, %d at once", n, most.Load())
		}
		silent.Store(true)
		all(ErrBehind)
		if n := asked.Load(); n > 4 || time.Since(start) > 3*catchUpTimeout {
			t.Errorf("asked %d times in %s", n, time.Since(start))
		}
		silent.Store(false)
		for range 10 {
			if _, err := a.Login(t.Context(), "203.0.113.9:1", "made up"); err == nil {
				t.Error("let in")
			} else if errors.As(err, &slow) {
				break
			}
		}
		if slow == nil {
			t.Fatal("an address is never told to wait")
		}
		before := asked.Load()
		for range 10 {
			_, _ = a.Login(t.Context(), "203.0.113.9:1", "made up")
		}
		if n := asked.Load() - before; n > 0 {
			t.Errorf("an address that has to wait asked %d times", n)
		}
		if _, err := a.LoginHash(t.Context(), "192.0.2.77:1", ""); err == nil || asked.Load() != before {
			t.Errorf("no token: %v, asked %d times", err, asked.Load()-before)
		}
	})
}

// TestATokenIsFoundBehindTheLeader checks that a token that arrives while the node catches up is let in, and that a
// token revoked on this node is rejected without a question.
func TestATokenIsFoundBehindTheLeader(t *testing.T) {
	t.Parallel()
	st := newState(t)
	text, asked := NewToken(), 0
	a := New(Config{State: st, Latest: func(context.Context) error {
		if asked++; asked == 1 {
			apply(t, st, &oplog.CreateToken{Hash: HashToken(text), DB: oplog.DefaultDB, At: oplog.At(time.Now())})
		}
		return nil
	}})
	for range 2 {
		if c, err := a.Login(t.Context(), "192.0.2.1:1", text); err != nil || c.Database != "default" {
			t.Errorf("%+v, %v", c, err)
		}
	}
	apply(t, st, &oplog.RevokeToken{Hash: HashToken(text), At: oplog.At(time.Now())})
	if _, err := a.Login(t.Context(), "192.0.2.1:1", text); !errors.Is(err, ErrToken) || asked != 1 {
		t.Errorf("revoked: %v, asked %d times", err, asked)
	}
}
