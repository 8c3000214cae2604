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

// A tape records the requests that one node sent to the peer port of another over a connection, and how many were
// answered. A late request is sent again over a new connection, whose answers are dropped.
type tape struct {
	conn *conn // the end that sends the requests
	addr string

	mu              sync.Mutex
	out, in         frameSplitter
	requests        [][]wire.Frame  // the hello first; the chunks of a snapshot follow its announcement
	answered        int             // number of answers without a stream, which come in order
	answeredStreams map[uint32]bool // streams of answered requests
}

// frameSplitter splits the bytes of a connection into frames.
type frameSplitter struct{ rest []byte }

func (s *frameSplitter) split(b []byte) (whole []wire.Frame) {
	s.rest = append(s.rest, b...)
	for {
		in := bytes.NewReader(s.rest)
		f, err := wire.NewReader(in, wire.MaxLength).Next()
		if err != nil { // the frame is not complete yet
			return whole
		}
		whole = append(whole, f)
		s.rest = s.rest[len(s.rest)-in.Len():]
	}
}

func (t *tape) recordSent(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.out.split(b) {
		if last := len(t.requests) - 1; f.Op == wire.OpSnapshotChunk {
			t.requests[last] = append(t.requests[last], f)
		} else {
			t.requests = append(t.requests, []wire.Frame{f})
		}
	}
}

func (t *tape) hello() []wire.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests[0]
}

func (t *tape) recordAnswers(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.in.split(b) {
		if f.Stream == 0 {
			t.answered++
			continue
		}
		if t.answeredStreams == nil {
			t.answeredStreams = map[uint32]bool{}
		}
		t.answeredStreams[f.Stream] = true
	}
}

// The requests that may arrive again. Raft's own messages may be repeated at any time. A node repeats the others over
// another connection only if it got no answer, so they arrive late only if their connection broke before the answer.
var (
	repeatable       = map[wire.Op]bool{wire.OpOplogPush: true, wire.OpHeartbeat: true, wire.OpRequestVote: true}
	repeatableIfLost = map[wire.Op]bool{wire.OpForward: true, wire.OpMembership: true, wire.OpTimeoutNow: true, wire.OpSnapshotBegin: true}
)

// lostAnswer reports whether the answer of request i can never arrive, because the connection broke.
func (t *tape) lostAnswer(i int) bool {
	if i == 0 || !t.conn.in.isBroken() {
		return false
	}
	if stream := t.requests[i][0].Stream; stream != 0 {
		return !t.answeredStreams[stream]
	}
	return i >= t.answered
}

// firstLost returns the first request without an answer that Raft does not repeat by itself, if there is one.
func (t *tape) firstLost() (at int, ok bool) {
	for i, r := range t.requests {
		if repeatableIfLost[r[0].Op] && t.lostAnswer(i) {
			return i, true
		}
	}
	return 0, false
}

func (t *tape) hasLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.firstLost()
	return ok
}

const maxRedelivered = 20 // requests over one connection

// pick returns those requests of a random range that may arrive again.
func (t *tape) pick(rng *rand.Rand) (picked [][]wire.Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.requests) < 2 {
		return nil
	}
	from := 1 + rng.IntN(len(t.requests)-1)
	if lost, ok := t.firstLost(); ok && rng.IntN(2) == 0 {
		from = lost
	}
	for i, r := range t.requests[from:min(from+1+rng.IntN(maxRedelivered), len(t.requests))] {
		if op := r[0].Op; repeatable[op] || repeatableIfLost[op] && t.lostAnswer(from+i) {
			picked = append(picked, r)
		}
	}
	return picked
}

// repeat sends requests again in the name of their sender, one by one, and returns when all are answered or one
// fails.
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

// redeliver makes some requests to a node arrive again, or for the first time, over several connections at once.
func (c *cluster) redeliver(node int, rng *rand.Rand) {
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
		if requests := t.pick(rng); len(requests) > 0 {
			c.background.Go(func() { c.net.repeat(t, requests) })
		}
	}
}

// tapesOf returns the tapes of all connections to a node, and those of them with a lost answer to a request that Raft
// does not repeat.
func (n *network) tapesOf(node int) (all, lost []*tape) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.tapes {
		if t.conn.to != node {
			continue
		}
		all = append(all, t)
		if t.hasLost() {
			lost = append(lost, t)
		}
	}
	return all, lost
}

// lossOdds has the odds that an answer is lost at any time, by its opcode: with 20, one in 20. Its connection breaks.
var lossOdds = map[wire.Op]int{wire.OpForwardOK: 20, wire.OpMembershipOK: 3, wire.OpSnapshotOK: 2, wire.OpTimeoutNowOK: 2}

// losesAnswer decides whether an answer of a node is lost.
func (n *network) losesAnswer(from int, answer []byte) bool {
	f, err := wire.NewReader(bytes.NewReader(answer), wire.MaxLength).Next() // a node writes each answer whole
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		return false
	}
	odds := lossOdds[f.Op]
	if time.Now().Before(n.lossyUntil[from]) {
		odds = 2
	}
	return odds > 0 && n.rng.IntN(odds) == 0
}

// isPeer reports whether an address is that of a peer port.
func isPeer(addr string) bool { return strings.HasSuffix(addr, ":7440") }
