package raft

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
)

// flippyConn flips one bit now and then in the bytes that it sends.
type flippyConn struct {
	net.Conn
	on *atomic.Bool
}

// flipOnce is the average number of writes for each flipped bit.
const flipOnce = 20

func (c *flippyConn) Write(b []byte) (int, error) {
	if !c.on.Load() || rand.IntN(flipOnce) > 0 {
		return c.Conn.Write(b)
	}
	b = slices.Clone(b)
	at := 10 + rand.IntN(len(b)-10) // behind the frame's head: a longer length would be waited for
	b[at] ^= 1 << rand.IntN(8)
	return c.Conn.Write(b)
}

// TestBitsFlippedBetweenMembers: messages between members change in transit repeatedly. The receiver rejects and logs
// each such frame, and it is sent again; all members get every proposed record.
func TestBitsFlippedBetweenMembers(t *testing.T) {
	var flips atomic.Bool
	c := startWith(t, 3, &cluster{fastRejoin: true, dial: func(ctx context.Context, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return &flippyConn{Conn: nc, on: &flips}, nil
	}})
	c.leader()
	flips.Store(true)
	want := c.propose(0, 150)
	var refused uint64
	for i, sm := range c.sms {
		c.wait("all records", func() bool { return len(sm.items()) >= len(want) })
		if got := sm.items(); !slices.Equal(got, want) {
			t.Errorf("node %d has %q", i+1, got)
		}
		if d := c.nodes[i].Disputes(); len(d) > 0 {
			t.Errorf("node %d refused %+v", i+1, d)
		}
		refused += c.nodes[i].DamagedFrames()
	}
	if refused == 0 {
		t.Error("no frame was refused")
	}
	t.Logf("%d frames refused", refused)
}
