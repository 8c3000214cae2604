package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
)

// A link carries all exchanges with one peer for one purpose over a shared connection. Many are under way at once
// over one connection, each on its own stream, and the peer answers them in the order in which it finishes them. A
// caller that gives up ends its own exchange and no other: the line writes and dials with its own deadlines.
type link struct {
	p   *Pool
	key poolKey

	mu      sync.Mutex
	open    *muxConn // nil: the next exchange dials
	dialing *dialing // nil: nobody waits for a connection
}

// dialing is an attempt to connect, for all exchanges that wait for it. mu of its line guards waiting; done guards
// the result.
type dialing struct {
	waiting int // the attempt ends when nobody waits any more
	cancel  context.CancelFunc
	done    chan struct{}
	conn    *muxConn
	err     error
}

// muxConn is a connection with the exchanges that wait for its answers. mu of its line guards all but the turn.
type muxConn struct {
	*Conn
	writeTurn chan struct{}              // holds a token while a frame is written
	last      uint32                     // stream
	waiting   map[uint32]chan wire.Frame // each has room for its answer; closed when the connection breaks
	owedSince time.Time                  // since when the peer owes an answer and has sent none; zero when it owes none
	retired   bool                       // carries no new exchange, and is closed when the last one has ended
}

var errBroken = errors.New("the connection broke before the answer came")

// Call makes one exchange with whichever node is at an address, and decodes its answer. After any error but a
// PeerError, the peer may or may not have served the request.
func (p *Pool) Call(ctx context.Context, addr, purpose string, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, RPCTimeout)
		defer cancel()
	}
	f, err := p.exchange(ctx, 0, addr, purpose, op, m)
	if err != nil {
		return err
	}
	return readAnswer(f, want, answer)
}

// exchange makes one exchange with a member; id is 0 when any node may answer. An ERROR frame becomes an error.
func (p *Pool) exchange(ctx context.Context, id uint32, addr, purpose string, op wire.Op, m wire.Message) (wire.Frame, error) {
	f, err := p.link(poolKey{addr, purpose}).exchange(ctx, id, op, m)
	if err != nil {
		return f, fmt.Errorf("peer %s: %w", addr, err)
	}
	return f, errorIn(f)
}

func (p *Pool) link(key poolKey) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.links[key]
	if l == nil {
		l = &link{p: p, key: key}
		p.links[key] = l
	}
	return l
}

func (l *link) exchange(ctx context.Context, id uint32, op wire.Op, m wire.Message) (wire.Frame, error) {
	c, stream, answer, err := l.send(ctx, id, op, m)
	if err != nil {
		return wire.Frame{}, err
	}
	select {
	case f, ok := <-answer:
		if !ok {
			return f, errBroken
		}
		return f, nil
	case <-ctx.Done():
		l.endExchange(c, stream)
		return wire.Frame{}, ctx.Err()
	}
}

// send sends a request on its own stream. After an error nothing was sent.
func (l *link) send(ctx context.Context, id uint32, op wire.Op, m wire.Message) (*muxConn, uint32, chan wire.Frame, error) {
	for {
		c, err := l.connection(ctx)
		if err != nil {
			return nil, 0, nil, err
		}
		if err := c.checkID(id); err != nil {
			l.mu.Lock()
			l.retire(c) // another node may answer the next time
			l.mu.Unlock()
			return nil, 0, nil, err
		}
		select {
		case c.writeTurn <- struct{}{}:
		case <-ctx.Done():
			return nil, 0, nil, ctx.Err()
		}
		stream, answer, ok := l.register(c)
		if !ok { // the connection ended meanwhile
			<-c.writeTurn
			continue
		}
		frame, err := c.frame(stream, op, m)
		if err != nil {
			l.endExchange(c, stream)
			<-c.writeTurn
			return nil, 0, nil, err
		}
		if !l.p.t.begin(func() { // a slow peer does not keep the caller beyond its deadline
			defer func() { <-c.writeTurn }()
			if err := c.write(time.Now().Add(RPCTimeout), frame); err != nil { // perhaps in the middle of a frame
				l.fail(c)
			}
		}) {
			l.endExchange(c, stream)
			<-c.writeTurn
			return nil, 0, nil, errClosed
		}
		return c, stream, answer, nil
	}
}

// connection returns the open connection, or the one that the first of those who wait has begun to dial.
func (l *link) connection(ctx context.Context) (*muxConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.open != nil && l.unresponsive(l.open) {
		l.retire(l.open)
	}
	if c := l.open; c != nil {
		l.mu.Unlock()
		return c, nil
	}
	d := l.dialing
	if d == nil {
		within, cancel := context.WithTimeout(l.p.t.ctx, HelloTimeout)
		d = &dialing{cancel: cancel, done: make(chan struct{})}
		if !l.p.t.begin(func() { l.dial(within, d) }) {
			l.mu.Unlock()
			cancel()
			return nil, errClosed
		}
		l.dialing = d
	}
	d.waiting++
	l.mu.Unlock()
	defer l.stopWaiting(d)
	if _, err := pause.Until(ctx, d.done); err != nil {
		return nil, err
	}
	return d.conn, d.err
}

// stopWaiting removes a caller that waited for a connection. When the last one leaves, it cancels an attempt that is
// still running.
func (l *link) stopWaiting(d *dialing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.waiting--; d.waiting > 0 {
		return
	}
	if l.dialing == d {
		l.dialing = nil
		d.cancel()
	}
}

// dial connects, and then receives until the connection ends.
func (l *link) dial(ctx context.Context, d *dialing) {
	defer d.cancel()
	nc, err := l.p.Dial(ctx, l.key.addr, l.key.purpose)
	l.mu.Lock()
	d.err = err
	wanted := l.dialing == d
	if wanted {
		l.dialing = nil
	}
	if err == nil && wanted {
		d.conn = &muxConn{Conn: nc, writeTurn: make(chan struct{}, 1), waiting: map[uint32]chan wire.Frame{}}
		l.open = d.conn
	}
	l.mu.Unlock()
	close(d.done)
	switch {
	case d.conn != nil:
		l.receive(d.conn)
	case err == nil:
		l.p.Drop(nc)
	}
}

// register registers an exchange on the open connection; ok is false when it is not open any more.
func (l *link) register(c *muxConn) (stream uint32, answer chan wire.Frame, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != c {
		return 0, nil, false
	}
	if c.last++; c.last == 0 {
		c.last++ // answers on stream 0 belong to no exchange
	}
	answer = make(chan wire.Frame, 1)
	c.waiting[c.last] = answer
	if c.owedSince.IsZero() {
		c.owedSince = time.Now()
	}
	return c.last, answer, true
}

// receive delivers answers to the waiting exchanges until the connection breaks.
func (l *link) receive(c *muxConn) {
	defer l.fail(c)
	for {
		f, err := c.read(time.Time{})
		if err != nil || f.Stream == 0 { // a frame that the peer could not read is rejected on no stream
			return
		}
		l.mu.Lock()
		if answer, ok := c.waiting[f.Stream]; ok { // otherwise its exchange has given up
			answer <- f // under mu: a write that fails closes the channels of those that wait
			delete(c.waiting, f.Stream)
		}
		if c.owedSince = time.Now(); len(c.waiting) == 0 {
			c.owedSince = time.Time{}
		}
		l.mu.Unlock()
		l.endExchange(c, f.Stream) // a retired connection is closed behind its last answer
	}
}

// endExchange ends one exchange, which was answered or whose caller has given up.
func (l *link) endExchange(c *muxConn, stream uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(c.waiting, stream)
	if l.unresponsive(c) {
		l.retire(c)
	}
	if c.retired && len(c.waiting) == 0 {
		l.p.Drop(c.Conn)
	}
}

// unresponsive reports whether a peer has owed an answer for so long that it may be dead. The caller holds mu.
func (l *link) unresponsive(c *muxConn) bool {
	return !c.owedSince.IsZero() && time.Since(c.owedSince) >= cmp.Or(l.p.t.o.Election, HelloTimeout)
}

// retire makes the next exchange dial a new connection. Exchanges that wait on the old one go on waiting, because
// the peer may just be slow. The caller holds mu.
func (l *link) retire(c *muxConn) {
	if l.open == c {
		l.open = nil
	}
	c.retired = true
	if len(c.waiting) == 0 {
		l.p.Drop(c.Conn)
	}
}

// fail closes a connection, and ends the exchanges that wait for its answers.
func (l *link) fail(c *muxConn) {
	l.p.Drop(c.Conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == c {
		l.open = nil
	}
	for stream, answer := range c.waiting {
		close(answer)
		delete(c.waiting, stream)
	}
}
