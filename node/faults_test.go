package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// network lets tests cut nodes off from each other: connections across a cut break and none are made.
type network struct {
	mu    sync.Mutex
	alone int            // the node that is cut off; 0 for none
	owner map[string]int // peer address → node
	conns map[net.Conn][2]int
}

func newNetwork() *network {
	return &network{owner: map[string]int{}, conns: map[net.Conn][2]int{}}
}

var errCut = errors.New("cut off")

func (n *network) dialer(from int) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		to := n.owner[addr]
		cut := n.alone != 0 && (from == n.alone || to == n.alone)
		n.mu.Unlock()
		if cut {
			return nil, errCut
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.alone != 0 && (from == n.alone || to == n.alone) { // meanwhile
			c.Close()
			return nil, errCut
		}
		n.conns[c] = [2]int{from, to}
		return c, nil
	}
}

func (n *network) cut(node int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alone = node
	for c, ends := range n.conns {
		if ends[0] == node || ends[1] == node {
			c.Close()
			delete(n.conns, c)
		}
	}
}

func (c *cluster) service(i int) (*engine.Service, api.Caller) {
	c.t.Helper()
	s := c.nodes[i].Service()
	caller, err := c.nodes[i].Access().Authenticate(secret)
	if err != nil {
		c.t.Fatal(err)
	}
	return s, caller
}

func eventually(t testing.TB, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func TestALeaderCutOffAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		net.owner[cfg.Addresses.Cluster] = i + 1
		cfg.Seams.Dial = net.dialer(i + 1)
		cfg.Raft.Election = 3 * time.Second
	})
	old := c.leader()
	s, caller := c.service(old)
	anyone := caller // whoever leads by then: a slow second may move leadership
	anyone.Forward = true
	if _, err := remember(t.Context(), s, anyone, "before", api.Draft{Text: "before"}); err != nil {
		t.Fatal(err)
	}
	net.cut(old + 1)
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if r, err := remember(short, s, caller, "", api.Draft{Text: "alone"}); err == nil {
		t.Errorf("a leader without a quorum acknowledged %v", r.RIDs)
	}
	eventually(t, "the rest elects another", func() bool {
		for i, n := range c.nodes {
			if i != old && n.Service().Status(t.Context()).AcceptsWrites {
				return true
			}
		}
		return false
	})
	next := (old + 1) % 3
	if !c.nodes[next].Service().Status(t.Context()).AcceptsWrites {
		next = (old + 2) % 3
	}
	if _, err := remember(t.Context(), c.nodes[next].Service(), anyone, "majority", api.Draft{Text: "majority"}); err != nil {
		t.Errorf("the majority does not write: %v", err)
	}
	if a, err := recall(t.Context(), s, caller, index.Query{Text: "before", K: 5}, commit.Stale); err != nil || len(a.Hits) == 0 {
		t.Errorf("the minority does not read: %v, %v", a.Hits, err)
	}
	if _, err := recall(t.Context(), s, caller, index.Query{Text: "before", K: 5}, commit.Linearizable); err == nil {
		t.Error("the minority answered a linearizable read")
	}
	net.cut(0)
	c.agree()
}

func TestAFollowerComesBackBySnapshot(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = 32, 50*time.Millisecond, 8
	})
	away := (c.leader() + 1) % 3
	c.stop(away)
	s, caller := c.service(c.leader())
	caller.Forward = true
	for i := range 200 {
		text := fmt.Sprintf("compacted memory number%d", i)
		_, err := remember(t.Context(), s, caller, text, api.Draft{Text: text})
		for errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) { // a busy machine may change leaders: the key asks again
			_, err = remember(t.Context(), s, caller, text, api.Draft{Text: text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a snapshot is taken", func() bool { return s.RaftStatus().SnapshotIndex > 100 })
	c.open(away)
	c.ready(away)
	c.agree()
	if r := find(t, c.dial(away), "number7"); len(r) == 0 || r[0].Text != "compacted memory number7" {
		t.Errorf("got %+v", r)
	}
}

func TestFollowersReadWhatWasWritten(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	l := c.leader()
	s, caller := c.service(l)
	for i := range 30 {
		text := fmt.Sprintf("unique%d", i)
		r, err := remember(t.Context(), s, caller, "", api.Draft{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		f, fc := c.service((l + 1 + i%2) % 3)
		fresh := commit.AtIndex(r.Index)
		if i%3 == 0 {
			fresh = commit.Linearizable
		}
		a, err := recall(t.Context(), f, fc, index.Query{Text: text, K: 1}, fresh)
		if err != nil || len(a.Hits) != 1 || a.Hits[0].Memory.RID != r.RIDs[0] {
			t.Fatalf("write %d: %+v, %v", i, a.Hits, err)
		}
	}
}

func TestFollowersRefuseOrForward(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	f := (c.leader() + 1) % 3
	s, caller := c.service(f)
	if _, err := remember(t.Context(), s, caller, "", api.Draft{Text: "refused"}); !errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}) {
		t.Errorf("got %v", err)
	}
	caller.Forward = true
	r, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "forwarded"})
	if err != nil {
		t.Fatal(err)
	}
	if r2, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "forwarded"}); err != nil || r2.RIDs[0] != r.RIDs[0] || !r2.Replayed {
		t.Errorf("the same key: %+v, %v", r2, err)
	}
	if _, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "another"}); !errors.Is(err, oplog.ErrKeyReused) {
		t.Errorf("the same key for another text: %v", err)
	}
	if a, err := recall(t.Context(), s, caller, index.Query{Text: "forwarded", K: 1}, commit.Stale); err != nil || len(a.Hits) != 1 {
		t.Errorf("own write not read: %+v, %v", a.Hits, err)
	}
}

func TestDatabasesAndTokensAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	cl := c.dial(0, 1, 2)
	id, err := cl.CreateDatabase(t.Context(), "work")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CreateDatabase(t.Context(), "work"); !client.IsCode(err, wire.CodeDBExists) {
		t.Errorf("twice: %v", err)
	}
	if _, err := cl.CreateDatabase(t.Context(), "../escape"); !client.IsCode(err, wire.CodeInvalidPayload) {
		t.Errorf("a path as a name: %v", err)
	}
	s, caller := c.service(c.leader())
	made, err := api.CreateToken.Do(t.Context(), s, caller, &api.CreateTokenRequest{Database: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Remember(t.Context(), wire.NewRemember("secret of default")); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i := range c.nodes {
		s, _ := c.service(i)
		got, err := c.nodes[i].Access().Authenticate(made.Token)
		if err != nil || uint32(got.DB) != id {
			t.Errorf("node %d: %+v, %v", i+1, got, err)
		}
		if a, err := recall(t.Context(), s, got, index.Query{Text: "secret", K: 5}, commit.Stale); err != nil || len(a.Hits) != 0 {
			t.Errorf("node %d shows another database's memory: %+v, %v", i+1, a.Hits, err)
		}
	}
	if ended, err := api.RevokeToken.Do(t.Context(), s, caller, &api.RevokeTokenRequest{Token: made.Token}); err != nil || !ended.Revoked {
		t.Fatal(ended, err)
	}
	c.agree()
	for i := range c.nodes {
		if _, err := c.nodes[i].Access().Authenticate(made.Token); err == nil {
			t.Errorf("node %d takes a revoked token", i+1)
		}
	}
}

// TestBombs sends what must be refused, before and after AUTH, and looks whether somebody else is disturbed.
func TestBombs(t *testing.T) {
	c := start(t, 1)
	other := c.dial(0)
	addr := c.nodes[0].Addrs().Wire
	deep := append([]byte(strings.Repeat("\x91", 60<<10)), 1)
	frames := map[string][]byte{
		"too small":  {0, 0, 0, 5, 1, 0xF1, 0, 0, 0},
		"too large":  {1, 0, 0, 7, 1, 0x20, 0, 0, 0, 0},
		"huge":       {0xFF, 0xFF, 0xFF, 0xFF, 1, 0x20, 0, 0, 0, 0},
		"deep":       wire.AppendFrame(nil, wire.Frame{Flags: 1, Op: wire.OpAuth, Payload: deep}),
		"lying":      wire.AppendFrame(nil, wire.Frame{Flags: 1, Op: wire.OpAuth, Payload: []byte{0x81, 0xA5, 't', 'o', 'k', 'e', 'n', 0xDD, 0xFF, 0xFF, 0xFF, 0xFF}}),
		"bad zstd":   wire.AppendFrame(nil, wire.Frame{Flags: 0x41, Op: wire.OpAuth, Payload: []byte{1, 2, 3}}),
		"version":    wire.AppendFrame(nil, wire.Frame{Flags: 2, Op: wire.OpAuth, Payload: []byte{0x80}}),
		"not AUTH":   wire.AppendFrame(nil, wire.Empty(wire.OpPing, 3)),
		"unknown":    wire.AppendFrame(nil, wire.Empty(wire.Op(0x99), 3)),
		"over early": append([]byte{0, 2, 0, 0, 1, 1, 0, 0, 0, 0}, make([]byte, 100)...),
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, raw := range frames {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(time.Minute))
		if _, err := nc.Write(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer, err := io.ReadAll(nc) // until the server closes
		if err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: not closed: %v", name, err)
		}
		if len(answer) < 10 && err == nil {
			t.Errorf("%s: no answer", name)
		}
		nc.Close()
		if err := other.Ping(t.Context()); err != nil {
			t.Fatalf("%s disturbed somebody else: %v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("refusing cost %d MiB", grown>>20)
	}
}

// TestBombsAfterTheHandshake: who is let in is not trusted either. The connection stays where the frame has a boundary.
func TestBombsAfterTheHandshake(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	other := c.dial(0)
	payloads := map[string]wire.Frame{
		"deep":         {Flags: 1, Payload: append([]byte(strings.Repeat("\x91", 4<<20)), 1)},
		"lying array":  {Flags: 1, Payload: []byte{0xDD, 0xFF, 0xFF, 0xFF, 0xFF}},
		"lying string": {Flags: 1, Payload: []byte{0x81, 0xA4, 't', 'e', 'x', 't', 0xDB, 0xFF, 0xFF, 0xFF, 0xFF}},
		"bad zstd":     {Flags: 0x41, Payload: []byte{0x28, 1, 2, 3}},
		"empty zstd":   {Flags: 0x41},
		"deep JSON":    {Flags: 0x81, Payload: []byte(strings.Repeat("[", 4<<20))},
		"not a map":    {Flags: 1, Payload: []byte{7}},
	}
	client := func(op wire.Op) (net.Conn, *wire.Reader, wire.Op) {
		nc, err := net.Dial("tcp", c.nodes[0].Addrs().Wire)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		nc.SetDeadline(time.Now().Add(time.Minute))
		b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: secret}, false)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write(b)
		r := wire.NewReader(nc, wire.MaxLength)
		if f, err := r.Next(); err != nil || f.Op != wire.OpAuthOK {
			t.Fatalf("auth: %s, %v", f.Op, err)
		}
		return nc, r, op
	}
	peer := func(op wire.Op) (net.Conn, *wire.Reader, wire.Op) {
		p := foreign(t, c.nodes[0].Addrs().Cluster)
		return p.nc, p.r, op
	}
	for _, open := range []func() (net.Conn, *wire.Reader, wire.Op){
		func() (net.Conn, *wire.Reader, wire.Op) { return client(wire.OpRemember) },
		func() (net.Conn, *wire.Reader, wire.Op) { return peer(wire.OpOplogPush) },
		func() (net.Conn, *wire.Reader, wire.Op) { return peer(wire.OpOplogPull) },
	} {
		nc, r, op := open()
		for name, f := range payloads {
			f.Op, f.Stream = op, 5
			if _, err := nc.Write(wire.AppendFrame(nil, f)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answer, err := r.Next()
			if err != nil {
				t.Fatalf("%s to %s: %v", name, op, err)
			}
			var e wire.Error
			if err := wire.Unpack(answer, &e, wire.MaxPlainPeer); err != nil || e.Code != wire.CodeInvalidPayload || answer.Stream != 5 {
				t.Errorf("%s to %s: %s %+v, %v", name, op, answer.Op, e, err)
			}
			if err := other.Ping(t.Context()); err != nil {
				t.Fatalf("%s disturbed somebody else: %v", name, err)
			}
		}
	}
}

func TestAReplicaReadsAndARemovedNodeIsGone(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		if i == 2 {
			cfg.Member.Role = raft.RoleReadReplica
			return
		}
		cfg.Member.Peers = cfg.Member.Peers[:1] // the voters know each other; the replica knows them
	})
	s, caller := c.service(c.leader())
	r, err := remember(t.Context(), s, caller, "", api.Draft{Text: "for the replica"})
	if err != nil {
		t.Fatal(err)
	}
	f, fc := c.service(2)
	a, err := recall(t.Context(), f, fc, index.Query{Text: "replica", K: 1}, commit.AtIndex(r.Index))
	if err != nil || len(a.Hits) != 1 {
		t.Errorf("the replica found %+v, %v", a.Hits, err)
	}
	member := func() (voter, known bool) {
		for _, m := range s.RaftStatus().Members {
			if m.ID == 3 {
				return m.Voter, true
			}
		}
		return false, false
	}
	if voter, known := member(); voter || !known {
		t.Errorf("the replica is a voter: %t, known: %t", voter, known)
	}
	if _, err := api.ChangeMembers.Do(t.Context(), s, caller, &api.ChangeMembersRequest{Verb: "remove", NodeID: 3}); err != nil {
		t.Fatal(err)
	}
	if _, known := member(); known {
		t.Error("removed, but a member")
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	c := start(t, 3)
	cl := c.dial(c.leader())
	if _, err := cl.Remember(t.Context(), wire.NewRemember("short-lived")); err != nil {
		t.Fatal(err)
	}
	cl.Close()
	for i := range c.nodes {
		c.stop(i)
	}
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestConnectionLimitDoesNotLeak(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.MaxConns = 3 })
	for range 5 {
		var open []*client.Client
		for range 3 {
			cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, cl)
		}
		if cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret}); err == nil {
			cl.Close()
			t.Fatal("a fourth connection was let in")
		}
		for _, cl := range open {
			cl.Close()
		}
		eventually(t, "there is room again", func() bool {
			cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret})
			if err == nil {
				cl.Close()
			}
			return err == nil
		})
		eventually(t, "nobody is connected", func() bool { return strings.Contains(c.web(0).metrics(), "cairn_connections{surface=\"wire\"} 0\n") })
	}
}

func TestEventsWithACursor(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	var first string
	for i := range 3 {
		rid, err := cl.Remember(t.Context(), wire.NewRemember(fmt.Sprint("old ", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = rid
		}
	}
	got := make(chan wire.Event, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- cl.Subscribe(ctx, wire.Subscribe{Events: []string{"stored"}, Cursor: 1}, func(e wire.Event) error {
			got <- e
			return nil
		})
	}()
	next := func() wire.Event {
		t.Helper()
		select {
		case e := <-got:
			return e
		case <-time.After(time.Minute):
			t.Fatal("no event")
			return wire.Event{}
		}
	}
	if e := next(); e.EventType != "subscribed" {
		t.Fatalf("got %+v", e)
	}
	if e := next(); e.EventType != "stored" || !strings.Contains(string(e.Data), first) {
		t.Fatalf("got %+v", e)
	}
	next()
	next()
	rid, err := cl.Remember(t.Context(), wire.NewRemember("new"))
	if err != nil {
		t.Fatal(err)
	}
	if e := next(); !strings.Contains(string(e.Data), rid) {
		t.Fatalf("got %+v", e)
	}
	cancel()
	<-done
}

// BenchmarkFollowerSees measures how long a memory that the leader has acknowledged takes to be readable on a follower.
func BenchmarkFollowerSees(b *testing.B) {
	c := start(b, 3)
	l := c.leader()
	s, caller := c.service(l)
	f, fc := c.service((l + 1) % 3)
	var waited time.Duration
	for b.Loop() {
		r, err := remember(b.Context(), s, caller, "", api.Draft{Text: "seen elsewhere"})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := recall(b.Context(), f, fc, index.Query{Text: "seen", K: 1}, commit.AtIndex(r.Index)); err != nil {
			b.Fatal(err)
		}
		waited += time.Since(start)
	}
	b.ReportMetric(float64(waited.Microseconds())/1000/float64(b.N), "ms-until-seen")
}

func BenchmarkRemember(b *testing.B) {
	for _, bc := range []struct {
		nodes, writers int
		through        string
	}{{1, 1, "leader"}, {1, 64, "leader"}, {3, 1, "leader"}, {3, 64, "leader"}, {3, 1, "follower"}, {3, 64, "follower"}} {
		b.Run(fmt.Sprintf("nodes=%d/writers=%d/%s", bc.nodes, bc.writers, bc.through), func(b *testing.B) {
			c := start(b, bc.nodes)
			at := c.leader()
			if bc.through == "follower" {
				at = (at + 1) % bc.nodes
			}
			s, caller := c.service(at)
			caller.Forward = true
			work := make(chan struct{})
			var wg sync.WaitGroup
			for range bc.writers {
				wg.Go(func() {
					for range work {
						if _, err := remember(b.Context(), s, caller, "", api.Draft{Text: "an agent learned something worth keeping"}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
		})
	}
}

// TestAClientLeavesAMinority: a member that hears of no quorum says so, and clients go to one that does.
func TestAClientLeavesAMinority(t *testing.T) {
	t.Parallel()
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Raft.Election = time.Second
		cfg.Seams.Dial = net.dialer(i + 1)
		net.owner[cfg.Addresses.Cluster] = i + 1
	})
	alone := c.leader()
	cl := c.dial(alone, (alone+1)%3, (alone+2)%3)
	if _, err := cl.Remember(t.Context(), wire.NewRemember("before")); err != nil {
		t.Fatal(err)
	}
	net.cut(alone + 1)
	eventually(t, "a member that knows of no quorum", func() bool {
		s, caller := c.service(alone)
		_, err := remember(t.Context(), s, caller, "", api.Draft{Text: "in a minority"})
		return errors.Is(err, api.ErrNoLeader) && strings.Contains(err.Error(), "no quorum")
	})
	if _, err := cl.Remember(t.Context(), wire.NewRemember("after")); err != nil {
		t.Errorf("a client of the minority: %v", err)
	}
}
