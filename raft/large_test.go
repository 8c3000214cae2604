package raft

import (
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// TestAFollowerTakesMoreThanAFrame: a follower that was away while more was written than a frame holds catches up, and takes
// as much at once while it follows.
func TestAFollowerTakesMoreThanAFrame(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ninety megabytes through three logs take a while under the race detector")
	}
	c := startSteady(t, 3)
	l := c.leader()
	follower := l.cfg.NodeID % 3
	if err := c.nodes[follower].Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	large := func(n int) (want []string) {
		futures := make([]*Future, n)
		for i := range futures {
			b := make([]byte, 3<<20) // nothing to compress
			for j := range b {
				b[j] = byte(rng.Uint32())
			}
			want = append(want, string(b))
			futures[i] = l.Propose(t.Context(), b)
		}
		for _, f := range futures {
			if _, _, err := f.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		return want
	}
	want := large(30)
	c.reopen(int(follower), "secret", slices.Delete(slices.Clone(c.addrs), int(follower), int(follower)+1))
	c.wait("the follower to have what it missed", func() bool { return slices.Equal(c.sms[follower].items(), want) })
	want = append(want, large(10)...)
	c.wait("the follower to keep up", func() bool { return slices.Equal(c.sms[follower].items(), want) })
}

// TestHalfAnAnswerIsNone: a connection breaks off when the follower has taken one of two frames. The library asks the answer, not
// the error, how far the follower is.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		ok := &wire.OplogPushOK{LastHLC: []byte{}, Raft: &wire.RaftAppendReply{Term: 1, LastLog: 7, Success: true}}
		b, err := wire.AppendPack(nil, wire.OpOplogPushOK, 0, ok, false)
		if err == nil {
			_, err = there.Write(b)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	p := &pipeline{c: &conn{Conn: here, r: wire.NewReader(here, wire.MaxPlainPeer)}}
	f := &inFlight{parts: 2, resp: &hraft.AppendEntriesResponse{}}
	if err := p.answer(f); err == nil || f.resp.Success {
		t.Errorf("%+v, %v", f.resp, err)
	}
}
