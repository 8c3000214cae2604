package transport

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// Pool keeps connections to peers between calls. mu guards idle, live and closed, and is never held over I/O other than closing.
type Pool struct {
	t      *Transport
	mu     sync.Mutex
	idle   map[poolKey][]*Conn
	live   map[*Conn]struct{}
	lines  map[poolKey]*line
	closed bool
}

type poolKey struct{ addr, purpose string }

var errClosed = errors.New("closed")

// get takes an idle connection to a member or dials one; id is 0 when any node may answer.
func (p *Pool) get(ctx context.Context, id uint32, addr, purpose string) (*Conn, error) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	n := len(p.idle[key])
	if n == 0 {
		p.mu.Unlock()
		return p.dialMember(ctx, id, addr, purpose)
	}
	c := p.idle[key][n-1]
	p.idle[key] = p.idle[key][:n-1]
	p.mu.Unlock()
	if err := c.checkID(id); err != nil {
		p.discard(addr, purpose, c)
		return nil, err
	}
	return c, nil
}

// dialMember is Dial for messages to one member. It refuses a connection at whose end another node answers.
func (p *Pool) dialMember(ctx context.Context, id uint32, addr, purpose string) (*Conn, error) {
	c, err := p.Dial(ctx, addr, purpose)
	if err != nil {
		return nil, err
	}
	if err := c.checkID(id); err != nil {
		p.Drop(c)
		return nil, err
	}
	return c, nil
}

// use makes an exchange on a connection to a member, and keeps the connection when the peer answered: after another error a late answer could be
// taken for the next one.
func (p *Pool) use(ctx context.Context, id uint32, addr, purpose string, exchange func(*Conn) error) error {
	c, err := p.get(ctx, id, addr, purpose)
	if err != nil {
		return err
	}
	err = exchange(c)
	if pe := (*PeerError)(nil); err != nil && !errors.As(err, &pe) {
		p.discard(addr, purpose, c)
		return fmt.Errorf("peer %s: %w", addr, err)
	}
	p.Put(addr, purpose, c)
	return err
}

func (c *Conn) checkID(id uint32) error {
	if id != 0 && c.Hello.NodeID != id {
		return fmt.Errorf("peer %s: node %d answers, want node %d", c.RemoteAddr(), c.Hello.NodeID, id)
	}
	return nil
}

// Put gives a healthy connection back.
func (p *Pool) Put(addr, purpose string, c *Conn) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	if !p.closed && len(p.idle[key]) < idleConns {
		p.idle[key] = append(p.idle[key], c)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.Drop(c)
}

func (p *Pool) Drop(c *Conn) {
	p.mu.Lock()
	delete(p.live, c)
	p.mu.Unlock()
	c.Close()
}

// Dial connects and shakes hands.
func (p *Pool) Dial(ctx context.Context, addr, purpose string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, HelloTimeout)
	defer cancel()
	nc, err := p.t.o.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	if p.t.o.ClientTLS != nil {
		if nc, err = secure(ctx, tls.Client(nc, p.t.o.ClientTLS)); err != nil {
			return nil, fmt.Errorf("peer %s: %w", addr, err)
		}
	}
	c := &Conn{Conn: nc, t: p.t, key: poolKey{addr, purpose}, r: wire.NewReader(bufio.NewReaderSize(nc, bufferSize), wire.MaxLength)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		nc.Close()
		return nil, errClosed
	}
	p.live[c] = struct{}{}
	p.mu.Unlock()
	deadline, _ := ctx.Deadline()
	if err := c.hello(deadline); err != nil {
		p.Drop(c)
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	return c, nil
}

// hello shakes hands: it checks who answers, with which certificate and proof, and of which cluster.
func (c *Conn) hello(deadline time.Time) error {
	hello := c.t.host.Hello(c.key.addr, c.key.purpose)
	hello.Raft.Nonce = make([]byte, nonceSize)
	rand.Read(hello.Raft.Nonce) // never fails
	hello.SetChecksum()
	if err := c.Call(deadline, wire.OpClusterHello, hello, wire.OpClusterHelloOK, &c.Hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if c.sums = c.Hello.Raft != nil; c.sums {
		c.r.Checksums()
		if err := c.t.checkAnswer(&c.Hello, c.RemoteAddr()); err != nil {
			return fmt.Errorf("hello: %w", err)
		}
	}
	if err := errors.Join(checkCertificate(c.Conn, c.Hello.NodeID), verifyProof(&c.Hello, hello.Raft.Nonce)); err != nil {
		return err
	}
	return c.t.host.CheckPeer(c.Hello.NodeID, c.Hello.Raft)
}

// discard closes a connection that failed and the idle ones with its key: a peer that restarted has closed them all, and each would
// cost a later call its failure. Nothing is sent twice here.
func (p *Pool) discard(addr, purpose string, c *Conn) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	stale := append(p.idle[key], c)
	delete(p.idle, key)
	for _, c := range stale {
		delete(p.live, c)
	}
	p.mu.Unlock()
	for _, c := range stale {
		c.Close()
	}
}

// closeAll closes all connections to a peer for a purpose; what is under way on them fails at once.
func (p *Pool) closeAll(addr, purpose string) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.live {
		if c.key == key {
			c.Close()
		}
	}
}

// Call makes one exchange with a peer. After an error that is no PeerError it is not known whether the peer served it.
func (p *Pool) Call(ctx context.Context, addr, purpose string, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(RPCTimeout)
	}
	return p.use(ctx, 0, addr, purpose, func(c *Conn) error { return c.Call(deadline, op, m, want, answer) })
}

// close ends every connection, in use or not.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*Conn, 0, len(p.live))
	for c := range p.live {
		all = append(all, c)
	}
	clear(p.live)
	clear(p.idle)
	p.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
