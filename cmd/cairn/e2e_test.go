package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

func TestMain(m *testing.M) { cairntest.Main(m, main, 6) }

// recalled has the fields of `recall --json` that tests read.
type recalled struct {
	Results []struct {
		RID   string
		Score float64
	}
	Confidence    float64
	Considered    uint64
	BelowMinScore uint64 `json:"below_min_score"`
}

func TestDevFromTheShell(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	rid, code := cairntest.Run(t, "remember", "Alice leads the payments team", "--home", home)
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	out, _ := cairntest.Run(t, "recall", "who leads payments?", "--home", home, "--json")
	var got recalled
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Results) != 1 || got.Results[0].RID != strings.TrimSpace(rid) {
		t.Fatalf("got %s (%v)", out, err)
	}
	if got.Confidence == 0 || got.Confidence != got.Results[0].Score {
		t.Errorf("the answer has not all that is known: %s", out)
	}
	if _, code := cairntest.Run(t, "forget", strings.TrimSpace(rid), "--home", home); code != 0 {
		t.Errorf("forget: exit %d", code)
	}
	if _, code := cairntest.Run(t, "forget", "nobody", "--home", home); code != cli.ExitFailed {
		t.Errorf("forget of nothing: exit %d", code)
	}
	if _, code := cairntest.Run(t, "frobnicate"); code != cli.ExitUsage {
		t.Errorf("unknown verb: exit %d", code)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log)
	}
}

// TestDevHintsAtATakenPort: each of dev's ports can be taken, those of the surfaces too.
func TestDevHintsAtATakenPort(t *testing.T) {
	t.Parallel()
	base := cairntest.FreePorts(t, 6)
	for _, offset := range []int{0, 1, 4, 5} {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", base+offset))
		if err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		code := run(t.Context(), []string{"dev", "--home", filepath.Join(shortDir(t), "h"), "--port-base", fmt.Sprint(base)}, nil, &out, &errs)
		if code != cli.ExitFailed || !strings.Contains(errs.String(), "hint: check whether another node runs") {
			t.Errorf("port %d taken: exit %d, %s", base+offset, code, &errs)
		}
		l.Close()
	}
}

func TestRevokedTokenClosesItsConnection(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	out, code := cairntest.Run(t, "token", "create", "--home", home)
	if code != 0 {
		t.Fatal("no token")
	}
	token := strings.TrimSpace(out)
	c, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{p.Line.Wire}, Token: token, DialTimeout: suite.Patience, Patience: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gone := make(chan error, 1)
	go func() {
		gone <- c.Subscribe(t.Context(), wire.Subscribe{Events: []string{"stored"}}, func(wire.Event) error { return nil })
	}()
	if _, code := cairntest.Run(t, "token", "revoke", token, "--home", home); code != 0 {
		t.Fatal("not revoked")
	}
	suite.Receive(t, "the end of the connection with its token", gone)
	if _, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{p.Line.Wire}, Token: token, DialTimeout: suite.Patience,
			Patience: suite.Patience}); !client.IsCode(err, wire.CodeAuthInvalid) {
		t.Errorf("a revoked token: %v", err)
	}
}

// TestLeadersDieAndNothingIsLost kills leaders, pauses them until others have led, and restarts followers, while
// clients write. In the end every node must have every acknowledged memory exactly once, and the states must be
// equal.
func TestLeadersDieAndNothingIsLost(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	kills := suite.Count(3, 6, 200)
	if testing.Short() {
		kills = 3
	}
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 2, 0, 1)
	addrs := wireAddrs(nodes)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{} // rid → text
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			c, err := client.Dial(t.Context(), client.Config{Addrs: addrs, Token: token})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				m := wire.NewRemember(fmt.Sprintf("writer %d memory %d", w, i))
				m.IdempotencyKey = fmt.Sprintf("key-%d-%d", w, i)
				rid, err := putUntilKnown(t.Context(), c, m)
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				again := rid
				if i%20 == 0 { // a repeated key returns the same memory
					if again, err = putUntilKnown(t.Context(), c, m); err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
				}
				mu.Lock()
				if other, seen := acked[rid]; seen || again != rid {
					t.Errorf("%s was acknowledged as %s (%q)", m.Text, rid, other)
				}
				acked[rid] = m.Text
				mu.Unlock()
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range kills {
		l := leaderOf(t, nodes)
		if round%3 == 2 { // it resumes as a leader that does not know of its successor
			nodes[l].Signal(syscall.SIGSTOP)
			waitForWrites(t, &mu, acked, 100)
			nodes[l].Signal(syscall.SIGCONT)
			waitForWrites(t, &mu, acked, 100)
			continue
		}
		nodes[l].Kill()
		start := time.Now()
		leaderOf(t, nodes)
		t.Logf("a new leader after %s", time.Since(start).Round(10*time.Millisecond))
		nodes[l].Launch()()
		f := (leaderOf(t, nodes) + 1 + rng.IntN(2)) % 3
		nodes[f].Kill()
		nodes[f].Launch()()
		waitForWrites(t, &mu, acked, 100) // clients write before every kill
	}
	cancel()
	wg.Wait()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
	t.Logf("%d memories acknowledged across %d leaders that died or stood still", len(acked), kills)
}
