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

// A line carries the exchanges with one peer for one purpose. Many are under way at once over one connection, each on
// its own stream, and the peer answers them in the order in which it finishes them. A caller that gives up ends
// its own exchange and no other: the line writes and dials with its own deadlines.
type line struct {
	p   *Pool
	key poolKey

	mu      sync.Mutex
	open    *multiplexed // nil: the next exchange dials
	dialing *dialing     // nil: nobody waits for a connection
}

// dialing is an attempt to connect, for all exchanges that wait for it. mu of its line guards waiting; done guards
// the result.
type dialing struct {
	waiting int // the attempt ends when nobody waits any more
	cancel  context.CancelFunc
	done    chan struct{}
	conn    *multiplexed
	err     error
}

// multiplexed is a connection with the exchanges that wait for its answers. mu of its line guards all but the turn.
type multiplexed struct {
	*Conn
	turn    chan struct{}              // holds a token while a frame is written
	last    uint32                     // stream
	waiting map[uint32]chan wire.Frame // each has room for its answer; closed when the connection breaks
	unheard time.Time                  // since when the peer owes an answer and has sent none; zero when it owes none
	retired bool                       // carries no new exchange, and is closed when the last one has ended
}

var errBroken = errors.New("the connection broke before the answer came")

// Call makes one exchange with whichever node is at an address, and decodes its answer. After an error that is no
// PeerError it is not known whether the peer served it.
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
	f, err := p.line(poolKey{addr, purpose}).exchange(ctx, id, op, m)
	if err != nil {
		return f, fmt.Errorf("peer %s: %w", addr, err)
	}
	return f, refusalIn(f)
}

func (p *Pool) line(key poolKey) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[key]
	if l == nil {
		l = &line{p: p, key: key}
		p.lines[key] = l
	}
	return l
}

func (l *line) exchange(ctx context.Context, id uint32, op wire.Op, m wire.Message) (wire.Frame, error) {
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
		l.forget(c, stream)
		return wire.Frame{}, ctx.Err()
	}
}

// send sends a request on its own stream. After an error nothing was sent.
func (l *line) send(ctx context.Context, id uint32, op wire.Op, m wire.Message) (*multiplexed, uint32, chan wire.Frame, error) {
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
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, 0, nil, ctx.Err()
		}
		stream, answer, ok := l.begin(c)
		if !ok { // the connection ended meanwhile
			<-c.turn
			continue
		}
		frame, err := c.frame(stream, op, m)
		if err != nil {
			l.forget(c, stream)
			<-c.turn
			return nil, 0, nil, err
		}
		if !l.p.t.begin(func() { // a slow peer does not keep the caller beyond its deadline
			defer func() { <-c.turn }()
			if err := c.write(time.Now().Add(RPCTimeout), frame); err != nil { // perhaps in the middle of a frame
				l.fail(c)
			}
		}) {
			l.forget(c, stream)
			<-c.turn
			return nil, 0, nil, errClosed
		}
		return c, stream, answer, nil
	}
}

// connection returns the open connection, or the one that the first of those who wait has begun to dial.
func (l *line) connection(ctx context.Context) (*multiplexed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.open != nil && l.silent(l.open) {
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
	defer l.leave(d)
	if _, err := pause.Until(ctx, d.done); err != nil {
		return nil, err
	}
	return d.conn, d.err
}

// leave counts out a caller that waited for a connection. The last one ends an attempt that is still under way.
func (l *line) leave(d *dialing) {
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
func (l *line) dial(ctx context.Context, d *dialing) {
	defer d.cancel()
	nc, err := l.p.Dial(ctx, l.key.addr, l.key.purpose)
	l.mu.Lock()
	d.err = err
	wanted := l.dialing == d
	if wanted {
		l.dialing = nil
	}
	if err == nil && wanted {
		d.conn = &multiplexed{Conn: nc, turn: make(chan struct{}, 1), waiting: map[uint32]chan wire.Frame{}}
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

// begin registers an exchange on the open connection; ok is false when it is not open any more.
func (l *line) begin(c *multiplexed) (stream uint32, answer chan wire.Frame, ok bool) {
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
	if c.unheard.IsZero() {
		c.unheard = time.Now()
	}
	return c.last, answer, true
}

// receive hands answers to the exchanges that wait for them, until the connection breaks.
func (l *line) receive(c *multiplexed) {
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
		if c.unheard = time.Now(); len(c.waiting) == 0 {
			c.unheard = time.Time{}
		}
		l.mu.Unlock()
		l.forget(c, f.Stream) // a retired connection is closed behind its last answer
	}
}

// forget ends an exchange that was answered, or whose caller has given up; no other one.
func (l *line) forget(c *multiplexed, stream uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(c.waiting, stream)
	if l.silent(c) {
		l.retire(c)
	}
	if c.retired && len(c.waiting) == 0 {
		l.p.Drop(c.Conn)
	}
}

// silent reports whether a peer has owed an answer for so long that it may be gone without a word. It is called with
// mu held.
func (l *line) silent(c *multiplexed) bool {
	return !c.unheard.IsZero() && time.Since(c.unheard) >= cmp.Or(l.p.t.o.Election, HelloTimeout)
}

// retire has the next exchange dial. Those that wait on the connection wait on: the peer may just be slow. It is
// called with mu held.
func (l *line) retire(c *multiplexed) {
	if l.open == c {
		l.open = nil
	}
	c.retired = true
	if len(c.waiting) == 0 {
		l.p.Drop(c.Conn)
	}
}

// fail closes a connection, and ends the exchanges that wait for its answers.
func (l *line) fail(c *multiplexed) {
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
