package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// wireAddrs returns the addresses of the nodes for wire clients.
func wireAddrs(nodes []*cairntest.Node) (addrs []string) {
	for _, p := range nodes {
		addrs = append(addrs, p.Line.Wire)
	}
	return addrs
}

// connect returns a client of all nodes, which is closed at the end of the test.
func connect(t testing.TB, nodes []*cairntest.Node, token string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Config{Addrs: wireAddrs(nodes), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// writeUntil writes texts, each under its own key, until ctx ends, and records the acknowledged ones.
func writeUntil(ctx context.Context, t testing.TB, cfg client.Config, mu *sync.Mutex, acked map[string]string, text func(i int) string) {
	c, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for i := 0; ctx.Err() == nil; i++ {
		m := wire.NewRemember(text(i))
		m.IdempotencyKey = client.NewKey()
		rid, err := putUntilKnown(t.Context(), c, m)
		if err != nil {
			t.Errorf("write %d: %v", i, err)
			return
		}
		mu.Lock()
		acked[rid] = m.Text
		mu.Unlock()
	}
}

// putUntilKnown repeats a write under the same key until its outcome is known, because the machine may be busier than a
// client's timeout allows for.
func putUntilKnown(ctx context.Context, c *client.Client, m wire.Remember) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, suite.Patience)
	defer cancel()
	if m.IdempotencyKey == "" {
		m.IdempotencyKey = client.NewKey() // makes repeated requests safe
	}
	for {
		rid, err := c.Remember(ctx, m)
		var e *client.Error
		if ctx.Err() == nil && errors.As(err, &e) &&
			(e.Code == wire.CodeNoQuorum || strings.Contains(string(e.Details), "unknown_outcome")) {
			sleep(ctx, 10*time.Millisecond)
			continue
		}
		return rid, err
	}
}

// putAndRecord writes a memory once, and records its id and text.
func putAndRecord(t testing.TB, c *client.Client, m wire.Remember, acked map[string]string) {
	t.Helper()
	rid, err := putUntilKnown(t.Context(), c, m)
	if err != nil {
		t.Fatal(err)
	}
	acked[rid] = m.Text
}

// recallNow repeats a linearizable recall until a leader confirms it.
func recallNow(t testing.TB, c *client.Client, q wire.Recall) []wire.RecallResult {
	t.Helper()
	ctx := suite.Context(t)
	q.Consistency = "linearizable"
	for {
		found, _, err := c.Recall(ctx, q)
		if err == nil {
			return found
		}
		if !client.IsCode(err, wire.CodeNoQuorum) || ctx.Err() != nil {
			t.Fatal(err)
		}
		sleep(ctx, 10*time.Millisecond)
	}
}

// waitForWrites waits until n more writes have been acknowledged.
func waitForWrites(t testing.TB, mu *sync.Mutex, acked map[string]string, n int) {
	t.Helper()
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	want := count() + n
	if !suite.Within(suite.Patience, func() bool { return count() >= want || t.Failed() }) || t.Failed() {
		t.Fatalf("%d writes acknowledged, want %d", count(), want)
	}
}

// A diary records the acknowledged writes of several clients.
type diary struct {
	t     testing.TB
	mu    sync.Mutex
	acked map[string]string // id → text of an acknowledged write

	stop func() // stops the clients and waits for them
}

// writeOn writes through clients of all nodes until stop. Each client repeats a write with the same key until it
// knows the outcome.
func writeOn(t testing.TB, nodes []*cairntest.Node, token string, clients int) *diary {
	t.Helper()
	d := &diary{t: t, acked: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	d.stop = func() { cancel(); writers.Wait() }
	t.Cleanup(d.stop)
	for w := range clients {
		c := connect(t, nodes, token)
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				m := wire.NewRemember(fmt.Sprintf("writer %d wrote %d", w, i))
				m.IdempotencyKey = client.NewKey()
				for ctx.Err() == nil {
					one, cancel := context.WithTimeout(ctx, 5*time.Second)
					rid, err := c.Remember(one, m)
					cancel()
					if err == nil {
						d.note(rid, m.Text)
						break
					}
					sleep(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	return d
}

func (d *diary) note(rid, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if other, twice := d.acked[rid]; twice {
		d.t.Errorf("%q was acknowledged as %s, as %q was", text, rid, other)
	}
	d.acked[rid] = text
}

func (d *diary) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.acked)
}

// waitForMore waits until more writes have been acknowledged.
func (d *diary) waitForMore(what string) {
	d.t.Helper()
	begin := time.Now()
	want := d.count() + 20
	suite.Eventually(d.t, "writes "+what, func() bool { return d.count() >= want })
	d.t.Logf("writes went on after %s %s", time.Since(begin).Round(10*time.Millisecond), what)
}

// checkAll stops the clients, and checks that every node has the same state with every acknowledged write once.
func (d *diary) checkAll(nodes []*cairntest.Node, token string) {
	d.t.Helper()
	d.stop()
	sameState(d.t, nodes)
	for _, p := range nodes {
		checkExport(d.t, p, token, d.acked)
	}
	d.t.Logf("%d writes acknowledged", len(d.acked))
}
