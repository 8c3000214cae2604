package main

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// load writes and recalls through clients that repeat each failed request at most once.
type load struct {
	stop  context.CancelFunc
	tasks sync.WaitGroup
	mu    sync.Mutex
	acked map[string]string
	again int // number of repeated requests

	still sync.RWMutex // locked for writing to pause all clients
}

// startLoad starts three writers and a reader. A request that fails twice fails the test.
func startLoad(t *testing.T, nodes []*cairntest.Node, token string) *load {
	t.Helper()
	addrs := wireAddrs(nodes)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, acked: map[string]string{}}
	twice := func(what string, f func(context.Context) error) bool {
		for try := 1; ; try++ {
			l.still.RLock()
			err := f(suite.Context(t))
			l.still.RUnlock()
			if err == nil {
				return true
			}
			if try == 2 {
				t.Errorf("%s failed twice: %v", what, err)
				return false
			}
			l.mu.Lock()
			l.again++
			l.mu.Unlock()
		}
	}
	for w := range 4 {
		l.tasks.Go(func() {
			c, err := client.Dial(t.Context(), client.Config{Addrs: addrs[w%3:], Token: token})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				if w == 3 {
					if !twice("recall", func(ctx context.Context) error {
						_, _, err := c.Recall(ctx, wire.NewRecall("memory"))
						return err
					}) {
						return
					}
					continue
				}
				m := wire.NewRemember(fmt.Sprintf("Maria Lopez%d works for Siemens%d", i, w)) // a text with a fact, which newer versions extract
				m.IdempotencyKey = client.NewKey()
				if !twice("remember", func(ctx context.Context) error {
					rid, err := c.Remember(ctx, m)
					if err == nil {
						l.mu.Lock()
						l.acked[rid] = m.Text
						l.mu.Unlock()
					}
					return err
				}) {
					return
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.tasks.Wait()
}

func (l *load) goesOn(t *testing.T) { t.Helper(); waitForWrites(t, &l.mu, l.acked, 30) }

// rollingRestart stops and starts the nodes one after the other under load, the leader last.
func rollingRestart(t *testing.T, nodes []*cairntest.Node, l *load, between func(p *cairntest.Node, left int)) {
	t.Helper()
	done := map[*cairntest.Node]bool{}
	for left := len(nodes); left > 0; left-- {
		lead := nodes[leaderOf(t, nodes)]
		var next *cairntest.Node
		for _, p := range nodes {
			if !done[p] && (next == nil || p != lead) {
				next = p
			}
		}
		l.goesOn(t)
		if err := next.Stop(); err != nil {
			t.Fatalf("stop: %v\n%s", err, next.Log)
		}
		done[next], next.Bin = true, ""
		l.goesOn(t)
		next.Launch()()
		l.goesOn(t)
		between(next, left-1)
	}
}

// TestARollingRestartFailsNoRequest restarts the nodes one after the other under load. No request may fail more than
// once, and no acknowledged write may be lost.
func TestARollingRestartFailsNoRequest(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThree(t, 0, 1, 2)
	l := startLoad(t, nodes, token)
	rollingRestart(t, nodes, l, func(*cairntest.Node, int) {})
	l.end()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, l.acked)
	}
	t.Logf("%d writes acknowledged, %d requests tried a second time", len(l.acked), l.again)
}
