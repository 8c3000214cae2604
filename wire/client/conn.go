package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/wire"
)

// conn is one connection with its reader goroutine. mu is never held over network I/O.
type conn struct {
	nc   net.Conn
	addr string
	pong time.Duration // from a ping until the server counts as gone

	out chan struct{} // holds a token while a frame is written
	buf []byte

	mu      sync.Mutex
	streams map[uint32]chan wire.Frame // requests that wait for frames
	next    uint32
	err     error // why it ended; nil while it lives
	retired bool  // ends when the last request is answered
	done    chan struct{}

	heard   atomic.Int64 // when bytes came last, in nanoseconds
	probing atomic.Bool

	late        chan struct{} // closed when the server is late; nil where there is no other to go to
	becomesLate sync.Once
}

// streamBuffer limits the frames that a request may be behind before the connection waits for it.
const streamBuffer = 64

// newConn takes over a connection. leave says that there are other nodes to go to when this one is late.
func newConn(nc net.Conn, addr string, leave bool, pong time.Duration) *conn {
	c := &conn{nc: nc, addr: addr, pong: pong, out: make(chan struct{}, 1), streams: map[uint32]chan wire.Frame{}, next: 1,
		done: make(chan struct{})}
	if leave {
		c.late = make(chan struct{})
	}
	c.heard.Store(time.Now().UnixNano())
	go c.read() // ends with the connection
	return c
}

func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.retired
}

// cause returns the reason why the connection ended; nil while it lives.
func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end closes the connection and fails all waiting requests.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.nc.Close()
}

// retire makes new requests go elsewhere, and ends the connection when the last one here is answered.
func (c *conn) retire() {
	c.mu.Lock()
	c.retired = true
	idle := len(c.streams) == 0
	c.mu.Unlock()
	if idle {
		c.end(ErrClosed)
	}
}

func (c *conn) read() {
	r := wire.NewReader(bufio.NewReaderSize(countingReader{c}, 64<<10), wire.MaxLength)
	for {
		f, err := r.Next()
		if err != nil {
			c.end(fmt.Errorf("connection lost: %w", err))
			return
		}
		c.mu.Lock()
		ch := c.streams[f.Stream]
		c.mu.Unlock()
		if ch == nil {
			if err := refusal(f); err != nil && f.Stream == 0 {
				c.end(err) // the rejection is about the connection, not about a request
				return
			}
			continue // the request was given up
		}
		select {
		case ch <- f:
		case <-c.done:
			return
		}
	}
}

// countingReader notes when bytes came last.
type countingReader struct{ c *conn }

func (l countingReader) Read(b []byte) (int, error) {
	n, err := l.c.nc.Read(b)
	if n > 0 {
		l.c.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// A machine without power or network closes no connection, and TCP would wait for minutes. So the client pings a quiet
// server. One that answers late may be down or only busy: the client sends requests that may be repeated to another
// node, and the others wait until it is taken for gone.
const (
	quietTime = 500 * time.Millisecond // without a byte, while a request waits, before a ping
	lateTime  = 500 * time.Millisecond // behind the ping, for a server that is not the only one
)

var (
	errSilent = errors.New("connection lost: the server does not answer")
	errLate   = errors.New("the server is late")
)

func (c *conn) silence() time.Duration { return time.Since(time.Unix(0, c.heard.Load())) }

// probe pings a server that has been quiet, and ends the connection when nothing comes of it.
func (c *conn) probe() {
	if c.silence() < quietTime || !c.probing.CompareAndSwap(false, true) {
		return
	}
	go func() { // ends in a few seconds
		defer c.probing.Store(false)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(patiently(context.Background()), c.pong)
		defer cancel()
		if c.late != nil {
			t := time.AfterFunc(lateTime, func() {
				if c.silence() > time.Since(begun) {
					c.becomesLate.Do(func() { close(c.late) })
				}
			})
			defer t.Stop()
		}
		if err := c.ask(ctx, wire.OpPing, nil, wire.OpPong, nil); err != nil && c.silence() > time.Since(begun) {
			c.end(errSilent)
		}
	}()
}

type patienceKey struct{}

// patiently marks a request that waits for a late server, because it must not be sent twice.
func patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

func (c *conn) open() (uint32, chan wire.Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	id := c.next
	c.next++
	ch := make(chan wire.Frame, streamBuffer)
	c.streams[id] = ch
	return id, ch, nil
}

func (c *conn) release(id uint32) {
	c.mu.Lock()
	ch := c.streams[id]
	delete(c.streams, id)
	last := c.retired && len(c.streams) == 0
	c.mu.Unlock()
	for drained := ch == nil; !drained; { // the reader may be about to hand over one more
		select {
		case <-ch:
		default:
			drained = true
		}
	}
	if last {
		c.end(ErrClosed)
	}
}

// sendTimeout bounds the writing of a frame. The connection is shared, so the deadline of one caller is not the
// connection's.
const sendTimeout = 30 * time.Second

// send encodes a request and has it written. A caller whose time is over stops waiting, and the frame still leaves
// whole.
func (c *conn) send(ctx context.Context, op wire.Op, stream uint32, m wire.Message) (err error) {
	select {
	case c.out <- struct{}{}:
	case <-c.done:
		return c.err
	case <-ctx.Done():
		c.probe() // another caller's frame may not leave
		return ctx.Err()
	}
	if m == nil {
		c.buf = wire.AppendFrame(c.buf[:0], wire.Empty(op, stream))
	} else if c.buf, err = wire.AppendPack(c.buf[:0], op, stream, m, false); err != nil {
		<-c.out
		return &Error{Code: wire.CodeInvalidPayload, Message: err.Error()}
	}
	written := make(chan error, 1)
	go func() { // ends with the write, which has a deadline
		err := c.write()
		<-c.out
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		c.probe()
		return ctx.Err()
	}
}

// write writes the frame in buf, and ends a connection that does not take it.
func (c *conn) write() error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(c.buf)
	if err != nil {
		c.end(fmt.Errorf("connection lost: %w", err)) // half a frame may be out
	}
	if cap(c.buf) > 1<<20 {
		c.buf = nil
	}
	return err
}

// stream sends a request and hands its frames to f until f says that it was the last.
func (c *conn) stream(ctx context.Context, op wire.Op, m wire.Message, f func(wire.Frame) (last bool, err error)) error {
	id, ch, err := c.open()
	if err != nil {
		return err
	}
	defer c.release(id)
	if err := c.send(ctx, op, id, m); err != nil {
		return err
	}
	for {
		fr, err := c.await(ctx, ch)
		if err != nil {
			return err
		}
		if err := refusal(fr); err != nil {
			return err
		}
		if last, err := f(fr); last || err != nil {
			return err
		}
	}
}

// await returns the next frame of a stream. A frame that arrived before the connection ended still counts.
func (c *conn) await(ctx context.Context, ch <-chan wire.Frame) (wire.Frame, error) {
	t := time.NewTimer(quietTime)
	defer t.Stop()
	late := c.late
	if late != nil && ctx.Value(patienceKey{}) != nil {
		late = nil
	}
	for {
		select {
		case f := <-ch:
			return f, nil
		case <-late:
			return wire.Frame{}, errLate
		case <-c.done:
			select {
			case f := <-ch:
				return f, nil
			default:
				return wire.Frame{}, c.err
			}
		case <-t.C:
			c.probe()
			t.Reset(quietTime)
		case <-ctx.Done():
			c.probe() // calls that are shorter than quietTime find a silent server together
			return wire.Frame{}, ctx.Err()
		}
	}
}

// ask sends a request that has one frame for an answer.
func (c *conn) ask(ctx context.Context, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	return c.stream(ctx, op, m, func(f wire.Frame) (bool, error) {
		if f.Op != want {
			return true, fmt.Errorf("answer %s, want %s", f.Op, want)
		}
		if answer == nil {
			return true, nil
		}
		return true, wire.Unpack(f, answer, wire.MaxPlainClient)
	})
}

// readonly is the rejection of a write by a node that is not the leader; it may name the leader.
type readonly struct {
	leader string
	lost   bool // the node knows of no quorum: there will be no leader soon
	err    error
}

func (r *readonly) Error() string { return r.err.Error() }

// refusal is the error a frame carries, if it is one.
func refusal(f wire.Frame) error {
	switch f.Op {
	case wire.OpAuthFail:
		var m wire.AuthFail
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			return err
		}
		if m.Retry {
			return &Error{Code: wire.CodeNoQuorum, Message: m.Reason} // as the node answers other requests meanwhile
		}
		return &Error{Code: wire.CodeAuthInvalid, Message: m.Reason}
	case wire.OpError, wire.OpReadonlyError:
		var m wire.Error
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			return err
		}
		e := &Error{Code: m.Code, Message: m.Message, Details: m.Details}
		if f.Op == wire.OpError {
			return e
		}
		l := m.Leader()
		r := &readonly{lost: l.Lost, err: e}
		if l.Addr != nil {
			r.leader = *l.Addr
		}
		return r
	}
	return nil
}

// IsCode reports whether an error is the server's, with this code.
func IsCode(err error, code wire.Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
