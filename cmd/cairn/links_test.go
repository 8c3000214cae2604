package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// links connects members through proxies, one in front of each; members know only the addresses of the proxies. A
// proxy learns the caller from its hello, so that a fault can apply to one direction between two members.
type links struct {
	t         testing.TB
	listeners []net.Listener // index: the member behind the proxy
	targets   []string

	mu      sync.Mutex
	rules   [][]fault // fault on the frames, by sender and receiver
	changed chan struct{}
	calls   map[*call]struct{}
	counts  [faultKinds]int // how often each fault has affected a frame or a connection
	closed  bool
	tasks   sync.WaitGroup
}

// A fault is the effect of a link on the frames in one direction.
type fault int

const (
	passes  fault = iota
	cut           // open and new connections are closed
	stalled       // connections stay open, and frames wait until the fault ends
	late          // each frame is delayed
	torn          // some connections end in the middle of a frame
	drips         // bytes are sent one by one
	flips         // a bit of some frames is flipped

	faultKinds
)

const (
	lateness = 20 * time.Millisecond
	tornOnce = 20 // one frame in this many
	flipOnce = 20 // one frame in this many
)

// A call is a connection through a proxy.
type call struct {
	from, to  int
	near, far net.Conn
}

func (c *call) close() {
	c.near.Close()
	if c.far != nil {
		c.far.Close()
	}
}

// newLinks creates a proxy for each of n members. Connect the members with put before the first starts.
func newLinks(t testing.TB, n int) *links {
	t.Helper()
	l := &links{t: t, targets: make([]string, n), changed: make(chan struct{}), calls: map[*call]struct{}{}}
	t.Cleanup(l.close)
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.listeners, l.rules = append(l.listeners, ln), append(l.rules, make([]fault, n))
	}
	return l
}

// rewriteConfig replaces the addresses in a member's configuration with those of the proxies.
func (l *links) rewriteConfig(n *config.NodeFile) {
	i := n.NodeID - 1
	l.targets[i] = n.Advertise
	n.Advertise, n.Peers = l.listeners[i].Addr().String(), nil
	for other, ln := range l.listeners {
		if other != i {
			n.Peers = append(n.Peers, ln.Addr().String())
		}
	}
	l.tasks.Go(func() { l.accept(i) })
}

func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	for _, ln := range l.listeners {
		ln.Close()
	}
	for c := range l.calls {
		c.close()
	}
	close(l.changed)
	l.mu.Unlock()
	l.tasks.Wait()
}

// set sets a fault on the links from one node to others, in one direction.
func (l *links) set(f fault, from int, to ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range to {
		l.rules[from][i] = f
		for c := range l.calls {
			if f == cut && c.from == from && c.to == i {
				c.close()
			}
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// all sets a fault on all links.
func (l *links) all(f fault) {
	for i := range l.listeners {
		l.set(f, i, l.others(i)...)
	}
}

// others returns all nodes except one, starting with its successor.
func (l *links) others(i int) (rest []int) {
	for n := range len(l.listeners) - 1 {
		rest = append(rest, (i+1+n)%len(l.listeners))
	}
	return rest
}

func (l *links) accept(to int) {
	for {
		nc, err := l.listeners[to].Accept()
		if err != nil {
			return
		}
		l.tasks.Go(func() { l.serve(nc, to) })
	}
}

// serve reads the hello of a caller and connects it to the member behind the proxy.
func (l *links) serve(near net.Conn, to int) {
	c := &call{from: -1, to: to, near: near}
	defer l.forget(c)
	if !l.know(c) {
		return
	}
	in := bufio.NewReaderSize(near, 64<<10)
	first, err := nextFrame(in)
	if err != nil {
		return
	}
	var hello wire.ClusterHello
	f, err := wire.NewReader(bytes.NewReader(first), wire.MaxLength).Next()
	if err = errors.Join(err, wire.Unpack(f, &hello, wire.MaxLength)); err != nil {
		l.t.Errorf("a member says hello with what is none: %v", err)
		return
	}
	far, err := net.Dial("tcp", l.targets[to])
	if err != nil {
		return
	}
	l.mu.Lock()
	c.from, c.far = int(hello.NodeID)-1, far
	l.mu.Unlock()
	if rule, _ := l.rule(c.from, to); rule == cut {
		l.meets(cut)
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		defer c.close()
		answers := bufio.NewReaderSize(far, 64<<10)
		for l.pass(c, near, answers, to, c.from, nil) {
		}
	})
	for l.pass(c, far, in, c.from, to, first) {
		first = nil
	}
	c.close()
	back.Wait()
}

func (l *links) know(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.calls[c] = struct{}{}
	}
	return !l.closed
}

func (l *links) forget(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c)
	c.close()
}

func (l *links) rule(from, to int) (f fault, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return cut, l.changed
	}
	return l.rules[from][to], l.changed
}

func (l *links) meets(f fault) {
	l.mu.Lock()
	l.counts[f]++
	l.mu.Unlock()
}

// hits returns how often a fault has affected a frame or a connection so far.
func (l *links) hits(f fault) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[f]
}

// waitFor waits until a fault has affected a number of frames or connections.
func (l *links) waitFor(f fault, times int) {
	l.t.Helper()
	suite.Eventually(l.t, fmt.Sprintf("fault %d to meet something", f), func() bool { return l.hits(f) >= times })
}

// pass forwards a frame, the given one or the next, and reports whether the connection may have more.
func (l *links) pass(c *call, dst io.Writer, src *bufio.Reader, from, to int, frame []byte) bool {
	var err error
	if frame == nil {
		if frame, err = nextFrame(src); err != nil {
			return false
		}
	}
	rule, moved := l.rule(from, to)
	if rule == stalled {
		l.meets(stalled)
	}
	for ; rule == stalled; rule, moved = l.rule(from, to) {
		<-moved
	}
	switch rule {
	case cut:
		if from == c.from { // answers to permitted callers are not cut
			return false
		}
	case late:
		l.meets(late)
		select {
		case <-time.After(lateness):
		case <-moved:
		}
	case torn:
		if rand.IntN(tornOnce) == 0 {
			l.meets(torn)
			_, _ = dst.Write(frame[:1+rand.IntN(len(frame)-1)])
			return false
		}
	case flips:
		if rand.IntN(flipOnce) == 0 {
			l.meets(flips)
			frame[4+rand.IntN(len(frame)-4)] ^= 1 << rand.IntN(8) // not in the length: the receiver would wait for the missing bytes of a longer frame
		}
	case drips:
		l.meets(drips)
		for len(frame) > 1 && err == nil {
			_, err = dst.Write(frame[:1])
			frame = frame[1:]
		}
	}
	if err == nil {
		_, err = dst.Write(frame)
	}
	return err == nil
}

// nextFrame reads a frame without decoding it.
func nextFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > wire.MaxLength {
		return nil, errors.New("a frame that is none")
	}
	b := append(head, make([]byte, n)...)
	_, err := io.ReadFull(r, b[4:])
	return b, err
}
