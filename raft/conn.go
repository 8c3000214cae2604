package raft

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// The purposes of connections: each has its own to each peer.
const (
	forHeartbeat = "heartbeat"
	forAppend    = "append"
	forSnapshot  = "snapshot"
	forForward   = "forward"
)

const (
	helloTimeout = 5 * time.Second
	rpcTimeout   = 10 * time.Second
	idleConns    = 4 // kept per peer and purpose
	bufferSize   = 64 << 10
	earlyBuffer  = 4 << 10  // of a connection that has not shown the secret
	earlyFrame   = 16 << 10 // the longest CLUSTER_HELLO
)

// conn is a connection to a peer after the handshake. One goroutine at a time.
type conn struct {
	net.Conn
	node  *Node
	key   poolKey
	r     *wire.Reader
	sums  bool // frames have checksums
	hello wire.ClusterHelloOK
	buf   []byte
}

// call sends a message and reads its answer.
func (c *conn) call(deadline time.Time, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	if err := c.send(deadline, op, m); err != nil {
		return err
	}
	return c.answer(deadline, want, answer)
}

func (c *conn) send(deadline time.Time, op wire.Op, m wire.Message) (err error) {
	if c.buf, err = wire.AppendPack(c.buf[:0], op, 0, m, false); err != nil {
		return err
	}
	if c.sums {
		c.buf = wire.AppendChecksum(c.buf)
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err = c.Write(c.buf)
	if cap(c.buf) > 1<<20 {
		c.buf = nil // one large batch does not pin its buffer
	}
	return err
}

func (c *conn) answer(deadline time.Time, want wire.Op, answer wire.Message) error {
	f, err := c.next(deadline)
	if err != nil {
		return err
	}
	if f.Op != want {
		return fmt.Errorf("answer %s where %s belongs", f.Op, want)
	}
	return wire.Unpack(f, answer, wire.MaxPlainPeer)
}

// next reads a frame; an ERROR frame becomes an error.
func (c *conn) next(deadline time.Time) (wire.Frame, error) {
	if err := c.SetReadDeadline(deadline); err != nil {
		return wire.Frame{}, err
	}
	f, err := c.r.Next()
	if err != nil {
		c.node.damaged(err, c.hello.NodeID, c.RemoteAddr())
		return f, err
	}
	if f.Op == wire.OpError || f.Op == wire.OpReadonlyError {
		var e wire.Error
		if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil {
			return f, err
		}
		return f, &PeerError{Code: e.Code, Text: e.Message}
	}
	return f, nil
}

// A PeerError is what a peer answered instead.
type PeerError struct {
	Code wire.Code
	Text string
}

func (e *PeerError) Error() string { return fmt.Sprintf("peer: %s (%d)", e.Text, e.Code) }

// pool keeps connections to peers between calls.
type pool struct {
	cfg    *Config
	node   *Node
	mu     sync.Mutex
	idle   map[poolKey][]*conn
	live   map[*conn]struct{}
	closed bool
}

type poolKey struct{ addr, purpose string }

var errClosed = errors.New("closed")

func newPool(n *Node) *pool {
	return &pool{cfg: &n.cfg, node: n, idle: map[poolKey][]*conn{}, live: map[*conn]struct{}{}}
}

// get takes an idle connection or dials one.
func (p *pool) get(ctx context.Context, addr, purpose string) (*conn, error) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	if n := len(p.idle[key]); n > 0 {
		c := p.idle[key][n-1]
		p.idle[key] = p.idle[key][:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	return p.dial(ctx, addr, purpose)
}

// member is get for a message to one member: whoever else has its address by now must not answer for it.
func (p *pool) member(ctx context.Context, id uint32, addr, purpose string) (*conn, error) {
	c, err := p.get(ctx, addr, purpose)
	if err != nil {
		return nil, err
	}
	if err := c.is(id); err != nil {
		p.forget(addr, purpose, c)
		return nil, err
	}
	return c, nil
}

func (c *conn) is(id uint32) error {
	if c.hello.NodeID != id {
		return fmt.Errorf("peer %s: node %d answers where node %d belongs", c.RemoteAddr(), c.hello.NodeID, id)
	}
	return nil
}

// put gives a healthy connection back.
func (p *pool) put(addr, purpose string, c *conn) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	if !p.closed && len(p.idle[key]) < idleConns {
		p.idle[key] = append(p.idle[key], c)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.drop(c)
}

func (p *pool) drop(c *conn) {
	p.mu.Lock()
	delete(p.live, c)
	p.mu.Unlock()
	c.Close()
}

// dial connects and shakes hands.
func (p *pool) dial(ctx context.Context, addr, purpose string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	nc, err := p.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	if p.cfg.ClientTLS != nil {
		if nc, err = secure(ctx, tls.Client(nc, p.cfg.ClientTLS)); err != nil {
			return nil, fmt.Errorf("peer %s: %w", addr, err)
		}
	}
	c := &conn{Conn: nc, node: p.node, key: poolKey{addr, purpose}, r: wire.NewReader(bufio.NewReaderSize(nc, bufferSize), wire.MaxLength)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		nc.Close()
		return nil, errClosed
	}
	p.live[c] = struct{}{}
	p.mu.Unlock()
	deadline, _ := ctx.Deadline()
	hello := p.node.hello(p.node.idAt(addr), purpose)
	hello.Raft.Nonce = make([]byte, nonceSize)
	rand.Read(hello.Raft.Nonce) // never fails
	hello.SetChecksum()
	if err := c.call(deadline, wire.OpClusterHello, hello, wire.OpClusterHelloOK, &c.hello); err != nil {
		p.drop(c)
		return nil, fmt.Errorf("peer %s: hello: %w", addr, err)
	}
	if c.sums = c.hello.Raft != nil; c.sums {
		c.r.Checksums()
		if err := p.node.whole(&c.hello, nc.RemoteAddr()); err != nil {
			p.drop(c)
			return nil, fmt.Errorf("peer %s: hello: %w", addr, err)
		}
	}
	if err := errors.Join(identified(nc, c.hello.NodeID), verifyProof(&c.hello, hello.Raft.Nonce), p.node.sameCluster(c.hello.Raft)); err != nil {
		p.drop(c)
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	p.node.told(c.hello.NodeID, c.hello.Raft)
	p.node.reminded(c.hello.NodeID, c.hello.Raft)
	return c, nil
}

// forget closes a connection that failed and the idle ones beside it: a peer that restarted has cut them all,
// and each would cost a later call its failure. Nothing is sent twice here.
func (p *pool) forget(addr, purpose string, c *conn) {
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

// cut closes all connections to a peer for a purpose; what is under way on them fails at once.
func (p *pool) cut(addr, purpose string) {
	key := poolKey{addr, purpose}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.live {
		if c.key == key {
			c.Close()
		}
	}
}

// call makes one exchange with a peer. After an error that is no PeerError nobody knows whether it was served.
func (p *pool) call(ctx context.Context, addr, purpose string, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(rpcTimeout)
	}
	c, err := p.get(ctx, addr, purpose)
	if err != nil {
		return err
	}
	err = c.call(deadline, op, m, want, answer)
	var pe *PeerError
	if err != nil && !errors.As(err, &pe) {
		p.forget(addr, purpose, c)
		return fmt.Errorf("peer %s: %w", addr, err)
	}
	p.put(addr, purpose, c)
	return err
}

// close ends every connection, in use or not.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*conn, 0, len(p.live))
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
