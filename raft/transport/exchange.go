package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// A line is the one connection to a peer for a purpose over which many exchanges are under way at once. Each has a stream of its own,
// and the peer answers them in the order in which it is done with them. A late answer is known by its stream, and a connection that the peer closed by its
// receiver, before anything is sent over it.
type line struct {
	p    *Pool
	key  poolKey
	turn chan struct{} // holds a token while one exchange dials or sends

	mu   sync.Mutex
	open *multiplexed // nil: the next exchange dials
}

// multiplexed is a connection with the exchanges that wait for its answers. mu of its line guards it.
type multiplexed struct {
	*Conn
	last    uint32                     // stream
	waiting map[uint32]chan wire.Frame // each has room for its answer; closed when the connection breaks
	heard   time.Time                  // when an answer came last
}

var errBroken = errors.New("the connection broke before the answer came")

// Call makes one exchange with whichever node is at an address, and decodes its answer. After an error that is no PeerError it is not known whether
// the peer served it.
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
		l = &line{p: p, key: key, turn: make(chan struct{}, 1)}
		p.lines[key] = l
	}
	return l
}

func (l *line) exchange(ctx context.Context, id uint32, op wire.Op, m wire.Message) (wire.Frame, error) {
	c, stream, answer, err := l.send(ctx, id, op, m)
	if err != nil {
		return wire.Frame{}, err
	}
	sent := time.Now()
	select {
	case f, ok := <-answer:
		if !ok {
			return f, errBroken
		}
		return f, nil
	case <-ctx.Done():
		l.giveUp(c, stream, sent, errors.Is(ctx.Err(), context.DeadlineExceeded))
		return wire.Frame{}, ctx.Err()
	}
}

// send sends a request on a stream of its own, over a new connection when there is none.
func (l *line) send(ctx context.Context, id uint32, op wire.Op, m wire.Message) (*multiplexed, uint32, chan wire.Frame, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, 0, nil, ctx.Err()
	}
	l.mu.Lock()
	c := l.open
	l.mu.Unlock()
	if c == nil {
		nc, err := l.p.Dial(ctx, l.key.addr, l.key.purpose)
		if err != nil {
			return nil, 0, nil, err
		}
		c = &multiplexed{Conn: nc, waiting: map[uint32]chan wire.Frame{}}
		l.mu.Lock()
		l.open = c
		l.mu.Unlock()
		l.p.t.tasks.Go(func() { l.receive(c) }) // ends with the connection
	}
	if err := c.checkID(id); err != nil {
		l.fail(c)
		return nil, 0, nil, err
	}
	answer := make(chan wire.Frame, 1)
	l.mu.Lock()
	if l.open != c { // it broke meanwhile
		l.mu.Unlock()
		return nil, 0, nil, errBroken
	}
	if c.last++; c.last == 0 {
		c.last++ // answers on stream 0 belong to no exchange
	}
	stream := c.last
	c.waiting[stream] = answer
	l.mu.Unlock()
	deadline, _ := ctx.Deadline()
	if err := c.sendOn(deadline, stream, op, m); err != nil { // perhaps in the middle of a frame
		l.fail(c)
		return nil, 0, nil, err
	}
	return c, stream, answer, nil
}

// receive hands answers to the exchanges that wait for them, until the connection breaks.
func (l *line) receive(c *multiplexed) {
	defer l.fail(c)
	for {
		f, err := c.read(time.Time{})
		if err != nil || f.Stream == 0 { // a frame that the peer could not read is refused on no stream
			return
		}
		l.mu.Lock()
		c.heard = time.Now()
		answer, ok := c.waiting[f.Stream]
		delete(c.waiting, f.Stream)
		l.mu.Unlock()
		if ok { // otherwise its exchange has given up
			answer <- f
		}
	}
}

// giveUp forgets an exchange whose context has ended. A peer that answered nothing since the request was sent may be gone without a
// word: the connection is closed, so that the next exchange does not wait for it too.
func (l *line) giveUp(c *multiplexed, stream uint32, sent time.Time, late bool) {
	l.mu.Lock()
	delete(c.waiting, stream)
	silent := c.heard.Before(sent) && (late || time.Since(sent) >= HelloTimeout)
	l.mu.Unlock()
	if silent {
		l.fail(c)
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
