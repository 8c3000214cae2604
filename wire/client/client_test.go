package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

func TestRefusedWriteGoesToTheLeader(t *testing.T) {
	leader := serve(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpDBOK, &wire.DBOK{Name: "d", ID: 7})
		return true
	})
	addr := leader.addr()
	details, err := json.Marshal(wire.Leader{Addr: &addr})
	if err != nil {
		t.Fatal(err)
	}
	follower := serve(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpReadonlyError, &wire.Error{Code: wire.CodeReadonlyNode, Message: "not the leader", Details: details})
		return true
	})
	c := dial(t, follower)
	id, err := c.CreateDatabase(t.Context(), "d")
	if err != nil || id != 7 {
		t.Fatalf("got %d, %v", id, err)
	}
	if c.Addr() != addr {
		t.Errorf("connected to %s, the leader is %s", c.Addr(), addr)
	}
}

// TestUnreachableLeaderIsNamed: a leader behind a firewall, or one whose certificate lacks its address.
func TestUnreachableLeaderIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	details, err := json.Marshal(wire.Leader{Addr: &addr})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	c := dial(t, serve(t, func(s *session, f wire.Frame) bool {
		asked.Add(1)
		s.send(f, wire.OpReadonlyError, &wire.Error{Code: wire.CodeReadonlyNode, Message: "not the leader", Details: details})
		return true
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = c.Remember(ctx, wire.NewRemember("x"))
	if !errors.Is(err, client.ErrNoLeader) || !strings.Contains(err.Error(), addr) || errors.Is(err, client.ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	if n := asked.Load(); n > 12 {
		t.Errorf("asked %d times within a second", n)
	}
}

func TestBrokenWrite(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	note := func(t *testing.T, f wire.Frame) {
		var m wire.Remember
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, m.IdempotencyKey)
	}
	dies := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpRemember {
			note(t, f)
		}
		return false
	})
	lives := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op != wire.OpRemember {
			t.Errorf("%s was sent a second time", f.Op)
			return false
		}
		note(t, f)
		s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		return true
	})
	t.Run("one with a key is sent again", func(t *testing.T) {
		rid, err := dial(t, dies, lives).Remember(t.Context(), wire.NewRemember("x"))
		if err != nil || rid != "r" {
			t.Fatalf("got %q, %v", rid, err)
		}
		if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("keys %q", keys)
		}
	})
	t.Run("one without is not", func(t *testing.T) {
		if _, err := dial(t, dies, lives).CreateDatabase(t.Context(), "d"); !errors.Is(err, client.ErrUnknownOutcome) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnknownOutcomeIsAskedAgainOrSaid(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	p := serve(t, func(s *session, f wire.Frame) bool {
		mu.Lock()
		asked++
		first := asked == 1
		mu.Unlock()
		if f.Op == wire.OpRemember && !first {
			s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		} else {
			s.send(f, wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: "lost", Details: wire.JSON(`{"unknown_outcome":true}`)})
		}
		return true
	})
	c := dial(t, p)
	if rid, err := c.Remember(t.Context(), wire.NewRemember("x")); err != nil || rid != "r" {
		t.Errorf("a write with a key: got %q, %v", rid, err)
	}
	if _, err := c.CreateDatabase(t.Context(), "d"); !errors.Is(err, client.ErrUnknownOutcome) {
		t.Errorf("a write without: got %v", err)
	}
}

func TestAClusterThatTakesNothingJustNowIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	p := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpRemember && asked.Add(1) < 3 {
			s.send(f, wire.OpError, &wire.Error{Code: wire.CodeNoQuorum, Message: "the log takes no writes now; retry"})
		} else if f.Op == wire.OpRemember {
			s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r"})
		} else {
			s.send(f, wire.OpError,
				&wire.Error{Code: wire.CodeInternal, Message: "too many requests", Details: wire.JSON(`{"retry_after_ms":250}`)})
		}
		return true
	})
	c := dial(t, p)
	if rid, err := c.Remember(t.Context(), wire.NewRemember("x")); err != nil || rid != "r" || asked.Load() != 3 {
		t.Errorf("got %q, %v after %d", rid, err, asked.Load())
	}
	var e *client.Error
	if _, err := c.Stats(t.Context()); !errors.As(err, &e) || e.RetryAfter() != 250*time.Millisecond {
		t.Errorf("a refusal of too many requests: %v", err)
	}
}

// TestRepeatIsAskedAgain: after an unknown outcome, idempotent operations are retried and other changes are not.
func TestRepeatIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	p := serve(t, func(s *session, f wire.Frame) bool {
		if asked.Add(1) == 2 {
			s.send(f, wire.OpOperationResult, &wire.OperationResult{Answer: wire.JSON(`{"edge_id":"e"}`)})
		} else {
			s.send(f, wire.OpError, &wire.Error{Code: wire.CodeInternal, Message: "lost", Details: wire.JSON(`{"unknown_outcome":true}`)})
		}
		return true
	})
	c := dial(t, p)
	var a struct {
		ID string `json:"edge_id"`
	}
	if err := c.Repeat(t.Context(), "relate", map[string]any{}, &a); err != nil || a.ID != "e" || asked.Load() != 2 {
		t.Errorf("got %+v, %v after %d", a, err, asked.Load())
	}
	if err := c.Change(t.Context(), "correct", map[string]any{}, &a); !errors.Is(err, client.ErrUnknownOutcome) || asked.Load() != 3 {
		t.Errorf("got %v after %d", err, asked.Load())
	}
}

func TestDeadlineOfAWriteWithoutAnswer(t *testing.T) {
	p := serve(t, func(*session, wire.Frame) bool { return true })
	c := dial(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Remember(ctx, wire.NewRemember("x"))
	if !errors.Is(err, client.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the write: got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.Recall(ctx, wire.NewRecall("x")); !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, client.ErrUnknownOutcome) {
		t.Errorf("the read: got %v", err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("a later request on the same connection: %v", err)
	}
}

func TestManyRequestsAnsweredBackwards(t *testing.T) {
	const n = 50
	var mu sync.Mutex
	all := map[*session][]wire.Frame{} // a client that takes a slow second for the end of a connection asks again on another
	p := serve(t, func(s *session, f wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		held := append(all[s], f)
		if all[s] = held; len(held) < n {
			return true
		}
		for i := n - 1; i >= 0; i-- {
			var m wire.Recall
			if err := wire.Unpack(held[i], &m, wire.MaxPlainClient); err != nil {
				t.Error(err)
			}
			s.send(held[i], wire.OpRecallResult, &wire.RecallResult{RID: m.Query})
			s.send(held[i], wire.OpRecallEnd, &wire.RecallEnd{Total: 1})
		}
		return true
	})
	c := dial(t, p)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			q := fmt.Sprint("q", i)
			r, _, err := c.Recall(t.Context(), wire.NewRecall(q))
			if err != nil || len(r) != 1 || r[0].RID != q {
				t.Errorf("%s: got %+v, %v", q, r, err)
			}
		})
	}
	wg.Wait()
}

// A subscriber that reads events slowly or not at all delays no request.
func TestSlowSubscriberDelaysNoRequest(t *testing.T) {
	flood := make(chan struct{})
	p := serve(t, func(s *session, f wire.Frame) bool {
		go func() {
			for range 1000 {
				s.send(f, wire.OpEvent, &wire.Event{EventType: "stored", Data: wire.JSON(`{}`)})
			}
			close(flood)
		}()
		return true
	})
	c := dial(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	taken := make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- c.Subscribe(ctx, wire.Subscribe{}, func(wire.Event) error {
			once.Do(func() { close(taken) })
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-taken
	for range 20 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the subscription ended with %v", err)
	}
	<-flood
}

func TestCloseEndsWhatWaits(t *testing.T) {
	got := make(chan struct{})
	p := serve(t, func(*session, wire.Frame) bool { close(got); return true })
	c := dial(t, p)
	done := make(chan error, 1)
	go func() {
		_, err := c.Stats(t.Context())
		done <- err
	}()
	<-got
	c.Close()
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := c.Ping(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}

// A rejected token is rejected by every node, so the client does not try another one. A node that has just started
// cannot decide yet, so the client tries the next one.
func TestRefusedTokenIsFinal(t *testing.T) {
	second := serve(t, func(*session, wire.Frame) bool { return false })
	for _, starting := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		served := make(chan error, 1)
		go func() {
			nc, err := ln.Accept()
			if err != nil {
				served <- err
				return
			}
			defer nc.Close()
			f, err := wire.NewReader(bufio.NewReader(nc), wire.MaxLength).Next()
			if err != nil {
				served <- err
				return
			}
			no, err := wire.Pack(wire.OpAuthFail, f.Stream, &wire.AuthFail{Reason: "invalid or revoked token", Retry: starting}, false)
			if err == nil {
				_, err = nc.Write(wire.AppendFrame(nil, no))
			}
			served <- err
		}()
		c, err := client.Dial(t.Context(),
			client.Config{Addrs: []string{ln.Addr().String(), second.addr()}, Token: "t", DialTimeout: suite.Patience})
		switch {
		case !starting && !client.IsCode(err, wire.CodeAuthInvalid):
			t.Errorf("got %v", err)
		case starting && err != nil:
			t.Errorf("a node that has only started keeps the client from the other: %v", err)
		case starting:
			c.Close()
		}
		if err := <-served; err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// With OwnWrites, reads require the client's last log position, unless the request has its own requirement.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	asked := make(chan field.Token, 4)
	p := serve(t, func(s *session, f wire.Frame) bool {
		switch f.Op {
		case wire.OpForget:
			s.send(f, wire.OpForgetOK, &wire.ForgetOK{Found: true, RID: "r", Index: 41})
		case wire.OpRecall:
			var q wire.Recall
			if err := wire.Unpack(f, &q, wire.MaxPlainClient); err != nil {
				t.Error(err)
			}
			asked <- q.MinIndex
			s.send(f, wire.OpRecallEnd, &wire.RecallEnd{})
		}
		return true
	})
	for _, own := range []bool{true, false} {
		c, err := client.Dial(t.Context(),
			client.Config{Addrs: []string{p.addr()}, Token: "t", OwnWrites: own, DialTimeout: suite.Patience})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Forget(t.Context(), "r"); err != nil || c.Index() != 41 {
			t.Fatalf("index %d, %v", c.Index(), err)
		}
		stale := wire.NewRecall("x")
		stale.Consistency = "stale"
		for _, q := range []wire.Recall{wire.NewRecall("x"), stale} {
			if _, _, err := c.Recall(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			want := map[bool]field.Token{true: 41}[own && q.Consistency == ""]
			if got := <-asked; got != want {
				t.Errorf("own writes %v, consistency %q: asked for %d, want %d", own, q.Consistency, got, want)
			}
		}
	}
}

// TestAnAnswerThatCannotBeReadIsFinal: an unreadable answer is not retried. For a write, the outcome is unknown.
func TestAnAnswerThatCannotBeReadIsFinal(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	p := serve(t, func(s *session, f wire.Frame) bool {
		asked.Add(1)
		s.send(f, wire.OpOperationResult, &wire.AuthFail{Reason: "no answer"})
		return true
	})
	ctx := suite.Context(t)
	c := dial(t, p)
	if _, err := c.Get(ctx, "r"); err == nil || ctx.Err() != nil || asked.Load() != 1 || errors.Is(err, client.ErrUnknownOutcome) {
		t.Errorf("a read: %v, asked %d times", err, asked.Load())
	}
	if _, err := c.Correct(ctx, client.Correction{RID: "r"}); !errors.Is(err, client.ErrUnknownOutcome) || asked.Load() != 2 {
		t.Errorf("a write: %v, asked %d times", err, asked.Load())
	}
}

// TestWritesThatARestoreLost: a client that reads its own writes is told once that the cluster's log ends before them,
// and then reads what there is.
func TestWritesThatARestoreLost(t *testing.T) {
	t.Parallel()
	p := serve(t, func(s *session, f wire.Frame) bool {
		var q wire.Recall
		switch {
		case f.Op == wire.OpRemember:
			s.send(f, wire.OpRememberOK, &wire.RememberOK{RID: "r", Index: 9})
		case wire.Unpack(f, &q, wire.MaxPlainClient) == nil && q.MinIndex > 4:
			s.send(f, wire.OpError, &wire.Error{Code: wire.CodeNoQuorum, Message: "replica behind", Details: wire.JSON(`{"log_end":"4"}`)})
		default:
			s.send(f, wire.OpRecallEnd, &wire.RecallEnd{})
		}
		return true
	})
	ctx := suite.Context(t)
	for name, recall := range map[string]func(*client.Client) error{
		"Recall": func(c *client.Client) error { _, _, err := c.Recall(ctx, wire.NewRecall("x")); return err },
		"RecallEach": func(c *client.Client) error {
			_, err := c.RecallEach(ctx, wire.NewRecall("x"), func(wire.RecallResult) error { return nil })
			return err
		},
	} {
		cfg := configOf([]*peer{p})
		cfg.OwnWrites = true
		c := dialWith(t, cfg)
		if _, err := c.Remember(ctx, wire.NewRemember("x")); err != nil || c.Index() != 9 {
			t.Fatal(err, c.Index())
		}
		if err := recall(c); !client.IsCode(err, wire.CodeNoQuorum) || c.Index() != 0 {
			t.Errorf("%s: %v, index %d", name, err, c.Index())
		}
		if err := recall(c); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// TestWatchGoesOn: if the connection breaks within the events of a log record, the remaining events are delivered,
// and none twice.
func TestWatchGoesOn(t *testing.T) {
	event := func(index, number int) *wire.Event {
		return &wire.Event{EventType: "stored", Data: wire.JSON(fmt.Sprintf(`{"index":%d,"number":%d}`, index, number))}
	}
	var mu sync.Mutex // connections are served side by side
	var cursors []field.Token
	p := serve(t, func(s *session, f wire.Frame) bool {
		var m wire.Subscribe
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			t.Error(err)
		}
		mu.Lock()
		cursors = append(cursors, m.Cursor)
		nth := len(cursors)
		mu.Unlock()
		s.send(f, wire.OpEvent, &wire.Event{EventType: "subscribed", Data: wire.JSON(`{"index":4}`)})
		switch nth {
		case 1: // none comes
		case 2:
			s.send(f, wire.OpEvent, event(5, 0))
			s.send(f, wire.OpEvent, event(6, 0))
			s.send(f, wire.OpEvent, event(6, 1))
		default:
			for i := range 3 {
				s.send(f, wire.OpEvent, event(6, i))
			}
			s.send(f, wire.OpEvent, event(7, 0))
			return true
		}
		return false
	})
	var got []string
	done := errors.New("done")
	err := dial(t, p).Watch(t.Context(), wire.Subscribe{}, func(e wire.Event) error {
		got = append(got, string(e.Data))
		if strings.Contains(string(e.Data), `"index":7`) {
			return done
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	want := []string{`{"index":4}`, `{"index":5,"number":0}`, `{"index":6,"number":0}`, `{"index":6,"number":1}`,
		`{"index":6,"number":2}`, `{"index":7,"number":0}`}
	if !errors.Is(err, done) || !slices.Equal(got, want) || !slices.Equal(cursors, []field.Token{0, 4, 5}) {
		t.Errorf("%v, cursors %v\n got %v\nwant %v", err, cursors, got, want)
	}
}
