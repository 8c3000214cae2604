package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// The client leaves a dead server, such as one whose machine lost its network, within seconds. It waits for a slow
// server that answers pings.
func TestASilentServerIsLeft(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	asked := make(chan struct{}, 100)
	gone := servePings(t, true, func(*session, wire.Frame) bool { asked <- struct{}{}; return true })
	var late wire.Frame
	pings := 0
	alive := servePings(t, true, func(s *session, f wire.Frame) bool { // serves a single connection
		if f.Op != wire.OpPing {
			late = f
			return true
		}
		s.send(f, wire.OpPong, nil)
		if pings++; pings == 12 { // it was quiet for longer than a silent server may be
			s.send(late, wire.OpInfoResult, &wire.Stats{ActiveMemories: 7})
		}
		return true
	})
	c := dial(t, gone, alive)
	st, err := c.Stats(suite.Context(t)) // it takes seven seconds; without pings it would be longer
	if err != nil || st.ActiveMemories != 7 {
		t.Fatalf("%+v, %v", st, err)
	}
	if len(asked) < 2 {
		t.Errorf("the silent one was asked %d times", len(asked))
	}
}

// TestASilentLeaderIsNotGoneBackTo: a client does not return to a silent leader that other nodes still name, because
// detecting the silence again would take as long.
func TestASilentLeaderIsNotGoneBackTo(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	silent := servePings(t, true, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpRemember {
			dialled.Add(1)
		}
		return true
	})
	addr := silent.addr()
	details, err := json.Marshal(wire.Leader{Addr: &addr})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	follower := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpRemember && asked.Add(1) < 4 {
			s.send(f, wire.OpReadonlyError, &wire.Error{Code: wire.CodeReadonlyNode, Message: "not the leader", Details: details})
		} else if f.Op == wire.OpRemember {
			s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		}
		return true
	})
	rid, err := dialEnduring(t, silent, follower).Remember(t.Context(), wire.NewRemember("x"))
	if err != nil || rid != "r" || asked.Load() != 4 {
		t.Errorf("got %q, %v; the follower was asked %d times", rid, err, asked.Load())
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("the silent one was asked %d times", n)
	}
}

// TestALateServerIsNotWaitedFor: repeatable requests go to another node as soon as a server is late, long before the
// connection is closed as dead.
func TestALateServerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	silent := servePings(t, true, func(*session, wire.Frame) bool { return true })
	alive := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpRemember {
			s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		} else {
			s.send(f, wire.OpInfoResult, &wire.Stats{ActiveMemories: 7})
		}
		return true
	})
	ctx := suite.Context(t) // ends before the client considers a server dead
	if rid, err := dialEnduring(t, silent, alive).Remember(ctx, wire.NewRemember("x")); err != nil || rid != "r" {
		t.Errorf("a write: %q, %v", rid, err)
	}
	if st, err := dialEnduring(t, silent, alive).Stats(ctx); err != nil || st.ActiveMemories != 7 {
		t.Errorf("a read: %+v, %v", st, err)
	}
}

// TestALateServerIsWaitedForWhereItMust: a write that must not be retried waits for its late server.
func TestALateServerIsWaitedForWhereItMust(t *testing.T) {
	t.Parallel()
	slow := servePings(t, true, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpSessionStart {
			time.AfterFunc(2*time.Second, func() { s.send(f, wire.OpSessionOK, &wire.SessionStarted{SessionID: "s"}) })
		}
		return true // and no ping is answered
	})
	var asked atomic.Int32
	other := serve(t, func(*session, wire.Frame) bool { asked.Add(1); return true })
	if id, err := dialEnduring(t, slow, other).StartSession(t.Context(), wire.SessionStart{Namespace: "n"}); err != nil || id != "s" ||
		asked.Load() != 0 {
		t.Errorf("got %q, %v; the other node was asked %d times", id, err, asked.Load())
	}
}

// TestASilentServerIsLeftByShortCalls: with calls shorter than the detection of a silent server and than a dial, the
// first calls fail, and then one reaches the other server.
func TestASilentServerIsLeftByShortCalls(t *testing.T) {
	t.Parallel()
	var hear atomic.Bool
	hear.Store(true)
	silent := serveAuth(t, hear.Load, func(*session, wire.Frame) bool { return true })
	alive := serve(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		return true
	})
	c := dial(t, silent, alive)
	hear.Store(false)
	m := wire.NewRemember("x")
	m.IdempotencyKey = client.NewKey()
	suite.Eventually(t, "the other server's answer", func() bool { // it takes six calls
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rid, err := c.Remember(ctx, m)
		return err == nil && rid == "r"
	})
}

// TestAFirstAddressThatIsSilentLeavesTimeForTheOthers: with a deadline, each address gets its share of the time to
// dial.
func TestAFirstAddressThatIsSilentLeavesTimeForTheOthers(t *testing.T) {
	t.Parallel()
	silent := serveAuth(t, func() bool { return false }, func(*session, wire.Frame) bool { return true })
	alive := serve(t, func(*session, wire.Frame) bool { return true })
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // less than a dial may take
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Token: "t", Addrs: []string{silent.addr(), alive.addr()}, DialTimeout: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Addr() != alive.addr() {
		t.Errorf("connected to %s, want %s", c.Addr(), alive.addr())
	}
}

// TestARefusalAfterABreakDecidesNothing: after a broken connection the outcome of a write is unknown, even if the
// second node rejects it.
func TestARefusalAfterABreakDecidesNothing(t *testing.T) {
	t.Parallel()
	dies := serve(t, func(*session, wire.Frame) bool { return false })
	full := serve(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpError,
			&wire.Error{Code: wire.CodeInternal, Message: "too many requests", Details: wire.JSON(`{"retry_after_ms":250}`)})
		return true
	})
	_, err := dial(t, dies, full).Remember(t.Context(), wire.NewRemember("x"))
	var e *client.Error
	if !errors.Is(err, client.ErrUnknownOutcome) || !errors.As(err, &e) || e.RetryAfter() == 0 {
		t.Errorf("a write: %v", err)
	}
	if _, err := dial(t, dies, full).Stats(t.Context()); errors.Is(err, client.ErrUnknownOutcome) || !errors.As(err, &e) {
		t.Errorf("a read: %v", err)
	}
}
