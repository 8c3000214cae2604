package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// network is a network in memory. Like TCP, it holds the data sent over a cut link until the link is whole again or
// the connection breaks. A broken connection loses the data under way, also in the middle of a frame.
type network struct {
	mu         sync.Mutex
	rng        *rand.Rand
	listeners  map[string]*listener
	cut        map[[2]int]bool // by sender and receiver
	dead       map[int]bool    // nodes whose system rejects connections
	paused     map[int]bool    // nodes that stand still
	delay      map[int]time.Duration
	lossyUntil map[int]time.Time // until when half of the answers of a node are lost
	conns      []*conn
	tapes      []*tape
	changed    chan struct{} // closed and replaced when a link changes
}

func newNetwork(seed uint64) *network {
	return &network{rng: rand.New(rand.NewPCG(seed, 1)), listeners: map[string]*listener{}, cut: map[[2]int]bool{},
		dead: map[int]bool{}, paused: map[int]bool{},
		delay: map[int]time.Duration{}, lossyUntil: map[int]time.Time{}, changed: make(chan struct{})}
}

// host returns the number of the node in an address such as "node2:7440".
func host(addr string) (n int) {
	fmt.Sscanf(addr, "node%d:", &n)
	return n
}

func (n *network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *network) link(from, to int) (cut bool, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]int{from, to}] || n.paused[from], n.changed
}

func (n *network) isPaused(node int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused[node]
}

// waitAwake returns when a node is not paused.
func (n *network) waitAwake(node int) {
	for {
		n.mu.Lock()
		paused, changed := n.paused[node], n.changed
		n.mu.Unlock()
		if !paused {
			return
		}
		<-changed
	}
}

// lag returns a random delay for the next bytes of a link.
func (n *network) lag(from, to int) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := 100*time.Microsecond + time.Duration(n.rng.IntN(400))*time.Microsecond
	for _, end := range []int{from, to} {
		if max := n.delay[end]; max > 0 {
			d += time.Duration(n.rng.Int64N(int64(max)))
		}
	}
	return d
}

// breakAll breaks all connections of a node.
func (n *network) breakAll(node int) {
	n.mu.Lock()
	var gone []*conn
	n.conns = slices.DeleteFunc(n.conns, func(c *conn) bool {
		mine := c.from == node || c.to == node
		if mine {
			gone = append(gone, c)
		}
		return mine || c.out.isBroken()
	})
	n.mu.Unlock()
	for _, c := range gone {
		c.fail(syscall.ECONNRESET)
	}
}

func (n *network) listen(_ context.Context, addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &listener{n: n, addr: addr, accept: make(chan net.Conn, 128), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// dialer returns the function with which a node dials others.
func (n *network) dialer(from int) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		var t *tape
		if isPeer(addr) {
			t = &tape{addr: addr}
		}
		return n.dial(ctx, from, addr, t)
	}
}

// dial connects a node with an address. It records the requests on the tape, unless that is nil.
func (n *network) dial(ctx context.Context, from int, addr string, t *tape) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	to := host(addr)
	defer n.waitAwake(from)
	for {
		n.mu.Lock()
		cut, changed := n.cut[[2]int{from, to}] || n.cut[[2]int{to, from}], n.changed
		n.mu.Unlock()
		if !cut { // the system of a paused node still accepts connections
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	time.Sleep(n.lag(from, to)) // the handshake's round trip
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[addr]
	if l == nil || n.dead[to] || n.dead[from] {
		return nil, syscall.ECONNREFUSED
	}
	ab, ba := newHalf(n, from, to), newHalf(n, to, from)
	a, b := &conn{from: from, to: to, out: ab, in: ba, tape: t}, &conn{from: to, to: from, out: ba, in: ab, answers: isPeer(addr)}
	select {
	case l.accept <- b:
	default:
		return nil, syscall.ECONNREFUSED
	}
	n.conns = append(n.conns, a)
	if t != nil {
		t.conn = a
		n.tapes = append(n.tapes, t)
	}
	return a, nil
}

type listener struct {
	n      *network
	addr   string
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		l.n.waitAwake(host(l.addr))
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.n.mu.Lock()
		delete(l.n.listeners, l.addr)
		l.n.mu.Unlock()
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.addr) }

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

// conn is one end of a connection.
type conn struct {
	from, to int
	out, in  *half
	tape     *tape // records the requests sent from this end; nil for none
	answers  bool  // this end answers requests
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	c.in.n.waitAwake(c.from) // a paused node notices neither data nor a timeout
	if c.tape != nil {
		c.tape.recordAnswers(b[:n])
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.answers && c.out.n.losesAnswer(c.from, b) {
		c.fail(syscall.ECONNRESET)
		return 0, syscall.ECONNRESET
	}
	n, err := c.out.write(b)
	if c.tape != nil {
		c.tape.recordSent(b[:n])
	}
	return n, err
}

func (c *conn) fail(err error) {
	c.out.fail(err)
	c.in.fail(err)
}

func (c *conn) LocalAddr() net.Addr                { return address(fmt.Sprintf("node%d:0", c.from)) }
func (c *conn) RemoteAddr() net.Addr               { return address(fmt.Sprintf("node%d:0", c.to)) }
func (c *conn) SetReadDeadline(t time.Time) error  { c.in.setDeadline(&c.in.readBy, t); return nil }
func (c *conn) SetWriteDeadline(t time.Time) error { c.out.setDeadline(&c.out.writeBy, t); return nil }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) Close() error {
	c.out.closeWrite()
	c.in.fail(net.ErrClosed)
	return nil
}
