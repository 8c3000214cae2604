package simulation

import (
	"bufio"
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// A tape keeps what one node asked another over a connection to its peer port, request by request, and how many
// answers it has read. A request arrives late when its frames are sent again over their own connection, whose answers
// are not read.
type tape struct {
	conn *conn // the asking end
	addr string

	mu      sync.Mutex
	out, in cutter
	asked   [][]wire.Frame  // the hello is the first; the chunks of a snapshot belong to what announced them
	heard   int             // how many answers came to requests without their own stream, which are answered in order
	streams map[uint32]bool // those of requests that were answered
}

// cutter cuts what passes into frames.
type cutter struct{ rest []byte }

func (c *cutter) cut(b []byte) (whole []wire.Frame) {
	c.rest = append(c.rest, b...)
	for {
		in := bytes.NewReader(c.rest)
		f, err := wire.NewReader(in, wire.MaxLength).Next()
		if err != nil { // there is more to come
			return whole
		}
		whole = append(whole, f)
		c.rest = c.rest[len(c.rest)-in.Len():]
	}
}

func (t *tape) asks(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.out.cut(b) {
		if last := len(t.asked) - 1; f.Op == wire.OpSnapshotChunk {
			t.asked[last] = append(t.asked[last], f)
		} else {
			t.asked = append(t.asked, []wire.Frame{f})
		}
	}
}

func (t *tape) hello() []wire.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[0]
}

func (t *tape) hears(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.in.cut(b) {
		if f.Stream == 0 {
			t.heard++
			continue
		}
		if t.streams == nil {
			t.streams = map[uint32]bool{}
		}
		t.streams[f.Stream] = true
	}
}

// What may arrive late. Raft's own messages may come as often as they like. The others are sent once, and again over
// another connection by a sender who had no answer: only those come late whose connection broke before they were
// answered.
var (
	anyTime    = map[wire.Op]bool{wire.OpOplogPush: true, wire.OpHeartbeat: true, wire.OpRequestVote: true}
	unanswered = map[wire.Op]bool{wire.OpForward: true, wire.OpMembership: true, wire.OpTimeoutNow: true, wire.OpSnapshotBegin: true}
)

// unheard reports whether a request is one that no answer will come to any more.
func (t *tape) unheard(i int) bool {
	if i == 0 || !t.conn.in.over() {
		return false
	}
	if stream := t.asked[i][0].Stream; stream != 0 {
		return !t.streams[stream]
	}
	return i >= t.heard
}

// firstLost is the first request that no answer will come to and that is not asked again by itself; false when there is
// none.
func (t *tape) firstLost() (at int, ok bool) {
	for i, r := range t.asked {
		if unanswered[r[0].Op] && t.unheard(i) {
			return i, true
		}
	}
	return 0, false
}

func (t *tape) lost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.firstLost()
	return ok
}

const mostLate = 20 // requests that arrive over one connection

// late picks requests that follow each other; none when nothing may come.
func (t *tape) late(rng *rand.Rand) (picked [][]wire.Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) < 2 {
		return nil
	}
	from := 1 + rng.IntN(len(t.asked)-1)
	if lost, ok := t.firstLost(); ok && rng.IntN(2) == 0 {
		from = lost
	}
	for i, r := range t.asked[from:min(from+1+rng.IntN(mostLate), len(t.asked))] {
		if op := r[0].Op; anyTime[op] || unanswered[op] && t.unheard(from+i) {
			picked = append(picked, r)
		}
	}
	return picked
}

// repeat sends requests again, as the node that sent them once, and returns when they are answered or lost for good.
func (n *network) repeat(t *tape, requests [][]wire.Frame) {
	nc, err := n.dial(context.Background(), t.conn.from, t.addr, nil)
	if err != nil {
		return
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return
	}
	answers := wire.NewReader(bufio.NewReader(nc), wire.MaxLength)
	for _, r := range append([][]wire.Frame{t.hello()}, requests...) {
		var b []byte
		for _, f := range r {
			b = wire.AppendFrame(b, f)
		}
		if _, err := nc.Write(b); err != nil {
			return
		}
		if _, err := answers.Next(); err != nil {
			return
		}
	}
}

// echo has some of what a node was asked arrive there again, or at last, over several connections at once.
func (c *cluster) echo(node int, rng *rand.Rand) {
	all, lost := c.net.tapesOf(node)
	for i := range 4 {
		from := all
		if i%2 == 0 && len(lost) > 0 {
			from = lost
		}
		if len(from) == 0 {
			return
		}
		t := from[rng.IntN(len(from))]
		if requests := t.late(rng); len(requests) > 0 {
			c.echoes.Go(func() { c.net.repeat(t, requests) })
		}
	}
}

// tapesOf returns the tapes of the connections to a node, and among them those on which something got lost that Raft
// does not repeat.
func (n *network) tapesOf(node int) (all, lost []*tape) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.tapes {
		if t.conn.to != node {
			continue
		}
		all = append(all, t)
		if t.lost() {
			lost = append(lost, t)
		}
	}
	return all, lost
}

// losses says of which answers one in how many gets lost, at any time; its connection breaks.
var losses = map[wire.Op]int{wire.OpForwardOK: 20, wire.OpMembershipOK: 3, wire.OpSnapshotOK: 2, wire.OpTimeoutNowOK: 2}

// loses reports whether an answer gets lost.
func (n *network) loses(from int, answer []byte) bool {
	f, err := wire.NewReader(bytes.NewReader(answer), wire.MaxLength).Next() // answers are written whole
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil || n.reliable {
		return false
	}
	odds := losses[f.Op]
	if time.Now().Before(n.mute[from]) {
		odds = 2
	}
	return odds > 0 && n.rng.IntN(odds) == 0
}

// isPeer reports whether an address is that of a node's peer port.
func isPeer(addr string) bool { return strings.HasSuffix(addr, ":7440") }
