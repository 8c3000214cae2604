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

// A link carries all exchanges with one peer for one purpose over a shared connection. Many exchanges run at once,
// each on its own stream, and the peer may answer them in any order. A caller that gives up ends only its own
// exchange: the link writes and dials with its own deadlines.
type link struct {
	p   *Pool
	key poolKey

	mu      sync.Mutex
	open    *muxConn // nil: the next exchange dials
	dialing *dialing // nil: no caller waits for a connection
}

// dialing is an attempt to connect, shared by all exchanges that wait for it. The link's mu guards waiting; the
// result is set before done is closed.
type dialing struct {
	waiting int // the attempt ends when this reaches 0
	cancel  context.CancelFunc
	done    chan struct{}
	conn    *muxConn
	err     error
}

// muxConn is a connection with the exchanges that wait for its answers. The link's mu guards all fields but
// writeTurn.
type muxConn struct {
	*Conn
	writeTurn chan struct{}              // holds a token while a frame is written
	last      uint32                     // the last stream that was used
	waiting   map[uint32]chan wire.Frame // each has room for its answer; closed when the connection breaks
	owedSince time.Time                  // since when the peer has sent no answer although it owes one; zero if it owes none
	retired   bool                       // carries no new exchange, and is closed when the last one has ended
}

var errBroken = errors.New("the connection broke before the answer came")

// A NotSentError says that no part of a request was sent.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// Call sends a request to any node at an address, and decodes its answer. After any error but a PeerError and a
// NotSentError, the peer may or may not have processed the request.
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

// exchange sends a request to a member and returns its answer; with id 0 any node may answer. An ERROR frame becomes
// an error.
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
		return wire.Frame{}, &NotSentError{err}
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

// send sends a request on its own stream. If it returns an error, nothing was sent.
func (l *link) send(ctx context.Context, id uint32, op wire.Op, m wire.Message) (*muxConn, uint32, chan wire.Frame, error) {
	for {
		c, err := l.connection(ctx)
		if err != nil {
			return nil, 0, nil, err
		}
		if err := c.checkID(id); err != nil {
			l.mu.Lock()
			l.retire(c) // the next attempt may reach the right node
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
		if !l.p.t.begin(func() { // in its own task, so that a slow peer does not hold the caller beyond its deadline
			defer func() { <-c.writeTurn }()
			if err := c.write(time.Now().Add(RPCTimeout), frame); err != nil { // the frame may be incomplete, so the connection must end
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

// connection returns the open connection. If there is none, the first caller dials, and later callers wait for the
// same attempt.
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

// register registers an exchange on the open connection; ok is false if the connection is no longer open.
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
		if err != nil || f.Stream == 0 { // the peer rejects a frame that it cannot read on stream 0
			return
		}
		l.mu.Lock()
		if answer, ok := c.waiting[f.Stream]; ok { // otherwise the exchange has given up
			answer <- f // under mu, because fail closes these channels
			delete(c.waiting, f.Stream)
		}
		if c.owedSince = time.Now(); len(c.waiting) == 0 {
			c.owedSince = time.Time{}
		}
		l.mu.Unlock()
		l.endExchange(c, f.Stream) // closes a retired connection after its last answer
	}
}

// endExchange removes an exchange that was answered or whose caller has given up.
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
