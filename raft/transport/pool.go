package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cairndb/cairn/wire"
)

// Pool manages the connections to peers: those that many exchanges share (link), and those that a caller dials for
// itself. mu guards live, links and closed, and is never held over I/O other than closing.
type Pool struct {
	t      *Transport
	mu     sync.Mutex
	live   map[*Conn]peerIdentity
	links  map[poolKey]*link
	closed bool
}

// peerIdentity holds the id and the key in a member's hello. It is zero before the hello, and for a foreign peer.
type peerIdentity struct {
	id  uint32
	key string
}

func identityIn(id uint32, h *wire.RaftHello) peerIdentity {
	if h == nil {
		return peerIdentity{}
	}
	return peerIdentity{id, h.Key}
}

// isImpostor reports whether a node showed a member's id without one of that member's keys.
func (s peerIdentity) isImpostor(id uint32, keys []string) bool {
	return s.id == id && !slices.Contains(keys, s.key)
}

type poolKey struct{ addr, purpose string }

var errClosed = errors.New("closed")

// dialMember dials one member. It rejects an answer from another node.
func (p *Pool) dialMember(ctx context.Context, id uint32, addr, purpose string) (*Conn, error) {
	c, err := p.Dial(ctx, addr, purpose)
	if err != nil {
		return nil, err
	}
	if err := c.checkID(id); err != nil {
		p.Drop(c)
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	return c, nil
}

// checkID rejects a connection to another node than id; id 0 allows any node.
func (c *Conn) checkID(id uint32) error {
	if id != 0 && c.Hello.NodeID != id {
		return fmt.Errorf("node %d answers, want node %d", c.Hello.NodeID, id)
	}
	return nil
}

// Drop closes a connection.
func (p *Pool) Drop(c *Conn) {
	p.mu.Lock()
	delete(p.live, c)
	p.mu.Unlock()
	c.Close()
}

// Dial connects to an address and performs the handshake.
func (p *Pool) Dial(ctx context.Context, addr, purpose string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, HelloTimeout)
	defer cancel()
	nc, err := p.t.o.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	if p.t.o.ClientTLS != nil {
		if nc, err = tlsHandshake(ctx, tls.Client(nc, p.t.o.ClientTLS)); err != nil {
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
	p.live[c] = peerIdentity{}
	p.mu.Unlock()
	deadline, _ := ctx.Deadline()
	if err := c.hello(deadline); err != nil {
		p.Drop(c)
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, live := p.live[c]; live {
		p.live[c] = identityIn(c.Hello.NodeID, c.Hello.Raft)
	}
	return c, nil
}

// endAppends closes all connections on which a peer gets records; the requests on them fail at once.
func (p *Pool) endAppends(addr string) {
	key := poolKey{addr, ForAppend}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.live {
		if c.key == key {
			c.Close()
		}
	}
}

// closeImpostors closes the connections to nodes that showed this id without one of these keys.
func (p *Pool) closeImpostors(id uint32, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, s := range p.live {
		if s.isImpostor(id, keys) {
			c.Close()
		}
	}
}

// close closes every connection, in use or not.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*Conn, 0, len(p.live))
	for c := range p.live {
		all = append(all, c)
	}
	clear(p.live)
	p.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
