package client_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestACallerWaitsForAConnectionWithinItsContext: callers share one attempt to connect to a silent server. Each
// returns when its own context ends, while others continue to wait.
func TestACallerWaitsForAConnectionWithinItsContext(t *testing.T) {
	t.Parallel()
	var hear atomic.Bool
	hear.Store(true)
	var attempts atomic.Int32
	hears := func() bool { attempts.Add(1); return hear.Load() }
	silent := serveAuth(t, hears, func(*session, wire.Frame) bool { hear.Store(false); return false })
	c := dialEnduring(t, silent)
	patient, giveUp := context.WithCancel(t.Context())
	var waiting, short sync.WaitGroup
	waiting.Go(func() {
		if _, err := c.Stats(patient); !errors.Is(err, context.Canceled) {
			t.Errorf("the one without a deadline: %v", err)
		}
	})
	const before = 3 // a login, the request that broke the connection, and the login that is not answered
	suite.Eventually(t, "a second login", func() bool { return attempts.Load() == before })
	begun := time.Now()
	for range 20 {
		short.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := c.Stats(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a short one: %v", err)
			}
			if took := time.Since(begun); took > suite.Patience/2 { // a dial may take all of it
				t.Errorf("it took %s", took)
			}
		})
	}
	if c.Addr() != "" { // it does not wait either
		t.Errorf("connected to %s", c.Addr())
	}
	short.Wait()
	giveUp()
	waiting.Wait()
	if n := attempts.Load() - before; n > 1 {
		t.Errorf("%d more attempts", n)
	}
}
