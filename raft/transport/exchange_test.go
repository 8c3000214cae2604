package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// peer is a host that answers forwarded entries with a function of the test, and rejects appends.
type peer struct {
	Host
	id      uint32
	forward func(ctx context.Context, entry string) (outcome string)
}

func (p *peer) Hello(uint32, string, string) (*wire.ClusterHello, error) {
	return &wire.ClusterHello{NodeID: p.id, ProtocolVersion: wire.Version, Role: "voter",
		Raft: &wire.RaftHello{Purpose: ForForward, Checksum: 1}}, nil
}
func (p *peer) HelloOK(*wire.ClusterHello) *wire.ClusterHelloOK {
	return &wire.ClusterHelloOK{NodeID: p.id, Raft: &wire.RaftHello{Checksum: 1}}
}
func (p *peer) CheckPeer(uint32, string, *wire.RaftHello) (wire.Code, error) { return 0, nil }
func (p *peer) LeaderFields(uint32, *hraft.AppendEntriesRequest) *wire.RaftAppend {
	return &wire.RaftAppend{}
}
func (p *peer) Answered(uint32, *wire.RaftAppendReply) {}
func (p *peer) Serve(ctx context.Context, c *Inbound, f wire.Frame) error {
	if f.Op == wire.OpHeartbeat {
		return c.Reply(f, wire.OpHeartbeatAck, &wire.HeartbeatAck{FollowerLastHLC: []byte{}, Raft: &wire.RaftAppendReply{Term: 1}})
	}
	var m wire.Forward
	if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
		return err
	}
	return c.Reply(f, wire.OpForwardOK, &wire.ForwardOK{Outcome: []byte(p.forward(ctx, string(m.Entry)))})
}

// transportPair is a requesting member and an answering one.
type transportPair struct {
	t     *testing.T
	pool  *Pool
	addr  string
	dials atomic.Int64
	mu    sync.Mutex
	conns []net.Conn // connections of the requesting member
}

func startPair(t *testing.T, forward func(ctx context.Context, entry string) string) *transportPair {
	t.Helper()
	return startPairOn(t, forward, func(ln net.Listener) net.Listener { return ln })
}

// startPairOn starts a pair whose answering member uses the listener of the test.
func startPairOn(t *testing.T, forward func(ctx context.Context, entry string) string, over func(net.Listener) net.Listener) *transportPair {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &transportPair{t: t, addr: ln.Addr().String()}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	there := New(Options{NodeID: 2, Advertise: p.addr, Secret: "secret", Log: log}, &peer{id: 2, forward: forward}, over(ln))
	there.Serve()
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		p.dials.Add(1)
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			p.mu.Lock()
			p.conns = append(p.conns, nc)
			p.mu.Unlock()
		}
		return nc, err
	}
	here := New(Options{NodeID: 1, Advertise: "none", Secret: "secret", Election: 2 * time.Second, Dial: dial, Log: log}, &peer{id: 1}, nil)
	p.pool = here.Pool
	t.Cleanup(func() {
		for _, tr := range []*Transport{here, there} {
			tr.Close()
			tr.Wait()
		}
	})
	return p
}

func (p *transportPair) ask(ctx context.Context, entry string) (string, error) {
	var ok wire.ForwardOK
	err := p.pool.Call(ctx, p.addr, ForForward, wire.OpForward, &wire.Forward{Entry: []byte(entry)}, wire.OpForwardOK, &ok)
	return string(ok.Outcome), err
}

// TestExchangesShareAConnection: the peer answers no request before it has read all of them, so they run at the same
// time. One connection carries them, and each gets its own answer.
func TestExchangesShareAConnection(t *testing.T) {
	t.Parallel()
	const many = 50
	var arrived sync.WaitGroup
	arrived.Add(many)
	p := startPair(t, func(_ context.Context, entry string) string {
		arrived.Done()
		arrived.Wait()
		return "outcome of " + entry
	})
	ctx := suite.Context(t)
	var asking sync.WaitGroup
	for i := range many {
		asking.Go(func() {
			entry := fmt.Sprint("entry ", i)
			if got, err := p.ask(ctx, entry); err != nil || got != "outcome of "+entry {
				t.Errorf("%s: got %q, %v", entry, got, err)
			}
		})
	}
	asking.Wait()
	if n := p.dials.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestABrokenConnectionEndsItsExchanges: all waiting exchanges end with an error, and the next one uses a new
// connection.
func TestABrokenConnectionEndsItsExchanges(t *testing.T) {
	t.Parallel()
	const many = 5
	arrived := make(chan struct{}, many)
	p := startPair(t, func(ctx context.Context, entry string) string {
		if entry == "again" {
			return entry
		}
		arrived <- struct{}{}
		<-ctx.Done()
		return ""
	})
	var asking sync.WaitGroup
	for range many {
		asking.Go(func() {
			if _, err := p.ask(t.Context(), "waits"); !errors.Is(err, errBroken) {
				t.Errorf("got %v", err)
			}
		})
	}
	for range many {
		<-arrived
	}
	p.mu.Lock()
	p.conns[0].Close()
	p.mu.Unlock()
	asking.Wait()
	if got, err := p.ask(t.Context(), "again"); err != nil || got != "again" || p.dials.Load() != 2 {
		t.Errorf("got %q, %v over connection %d", got, err, p.dials.Load())
	}
}

// TestAnExchangeThatGivesUpLeavesTheOthers: the late answer to a canceled exchange is dropped, and the connection
// stays.
func TestAnExchangeThatGivesUpLeavesTheOthers(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	p := startPair(t, func(_ context.Context, entry string) string {
		if entry == "slow" {
			arrived <- struct{}{}
			<-release
		}
		return entry
	})
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := p.ask(ctx, "slow")
		gaveUp <- err
	}()
	<-arrived
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	for range 3 {
		if got, err := p.ask(t.Context(), "quick"); err != nil || got != "quick" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if n := p.dials.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestASilentPeerIsDialedAnew: a peer without any answer for an election timeout may be dead, so a new connection is
// dialed, however short each caller waited. A caller that still waits on the old connection gets its answer.
func TestASilentPeerIsDialedAnew(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	p := startPair(t, func(ctx context.Context, entry string) string {
		switch entry {
		case "silent":
			<-ctx.Done()
		case "slow":
			close(arrived)
			<-release
		}
		return entry
	})
	slow := make(chan error, 1)
	go func() {
		_, err := p.ask(t.Context(), "slow")
		slow <- err
	}()
	<-arrived
	suite.Eventually(t, "another connection", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := p.ask(ctx, "silent"); err == nil {
			t.Fatal("an answer")
		}
		return p.dials.Load() > 1
	})
	if got, err := p.ask(t.Context(), "quick"); err != nil || got != "quick" {
		t.Errorf("got %q, %v", got, err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("the one that waited on: %v", err)
	}
}

// TestALateCallerLeavesTheOthers: a thousand requests with random deadlines are forwarded through a slow leader. A
// request without an outcome ended by its own deadline only.
func TestALateCallerLeavesTheOthers(t *testing.T) {
	t.Parallel()
	p := startPair(t, func(ctx context.Context, entry string) string {
		select {
		case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
		case <-ctx.Done():
		}
		return entry
	})
	var asking sync.WaitGroup
	var late, answered atomic.Int64
	begin := make(chan struct{}, 100) // limits the concurrent requests
	for i := range 1000 {
		begin <- struct{}{}
		asking.Go(func() {
			defer func() { <-begin }()
			within := suite.Patience
			if i%2 == 0 {
				within = time.Duration(rand.IntN(40_000)) * time.Microsecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			entry := fmt.Sprint("entry ", i)
			got, err := p.ask(ctx, entry)
			switch {
			case err == nil && got == entry:
				answered.Add(1)
			case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
				late.Add(1)
			default:
				t.Errorf("%s within %s: %q, %v", entry, within, got, err)
			}
		})
	}
	asking.Wait()
	if late.Load() == 0 || answered.Load() < 500 {
		t.Errorf("%d late, %d answered", late.Load(), answered.Load())
	}
}

// TestAnotherNodeIsNotAsked: if another member answers at the address, it does not get the request. Requests for that
// member succeed.
func TestAnotherNodeIsNotAsked(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	p := startPair(t, func(_ context.Context, entry string) string { asked <- entry; return entry })
	if _, err := p.pool.exchange(t.Context(), 3, p.addr, ForForward, wire.OpForward, &wire.Forward{Entry: []byte("for 3")}); err == nil {
		t.Error("node 2 answered for node 3")
	}
	f, err := p.pool.exchange(t.Context(), 2, p.addr, ForForward, wire.OpForward, &wire.Forward{Entry: []byte("for 2")})
	if err != nil || f.Op != wire.OpForwardOK {
		t.Errorf("%s, %v", f.Op, err)
	}
	if got := <-asked; got != "for 2" || len(asked) > 0 {
		t.Errorf("it was asked %q, and %d more", got, len(asked))
	}
}
