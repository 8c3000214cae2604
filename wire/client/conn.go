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

// conn is a connection with its reader goroutine. mu is never held during network I/O.
type conn struct {
	nc   net.Conn
	addr string
	pong time.Duration // from a ping until the connection is closed as dead

	missed    string // the address dialed first, if that failed; blank: addr
	missedErr error

	writeSlot chan struct{} // holds a token while a frame is written
	buf       []byte

	mu      sync.Mutex
	streams map[uint32]chan wire.Frame // requests in progress
	next    uint32
	err     error // why the connection ended; nil while it is open
	retired bool  // closed after the last request is answered
	done    chan struct{}

	lastRead atomic.Int64 // time of the last received bytes, in Unix nanoseconds
	probing  atomic.Bool

	late     chan struct{} // closed when the server is late; nil if there is no other server
	lateOnce sync.Once
}

// streamBuffer is the number of frames buffered for a request before the reader blocks.
const streamBuffer = 64

// newConn wraps a connection and starts its reader. leave reports that there are other nodes to switch to when this
// one is late.
func newConn(nc net.Conn, addr string, leave bool, pong time.Duration) *conn {
	c := &conn{nc: nc, addr: addr, pong: pong, writeSlot: make(chan struct{}, 1), streams: map[uint32]chan wire.Frame{}, next: 1,
		done: make(chan struct{})}
	if leave {
		c.late = make(chan struct{})
	}
	c.lastRead.Store(time.Now().UnixNano())
	go c.read() // ends with the connection
	return c
}

func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.retired
}

// cause returns the error that ended the connection; nil while it is open.
func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// closeWith closes the connection. All requests in progress fail with err.
func (c *conn) closeWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.nc.Close()
}

// retire stops new requests on the connection, and closes it after the last request in progress.
func (c *conn) retire() {
	c.mu.Lock()
	c.retired = true
	idle := len(c.streams) == 0
	c.mu.Unlock()
	if idle {
		c.closeWith(ErrClosed)
	}
}

func (c *conn) read() {
	r := wire.NewReader(bufio.NewReaderSize(countingReader{c}, 64<<10), wire.MaxLength)
	for {
		f, err := r.Next()
		if err != nil {
			c.closeWith(fmt.Errorf("connection lost: %w", err))
			return
		}
		c.mu.Lock()
		ch := c.streams[f.Stream]
		c.mu.Unlock()
		if ch == nil {
			if err := errorIn(f); err != nil && f.Stream == 0 {
				c.closeWith(err) // stream 0: the error concerns the whole connection
				return
			}
			continue // the request was abandoned
		}
		select {
		case ch <- f:
		case <-c.done:
			return
		}
	}
}

// countingReader records the time of the last received bytes.
type countingReader struct{ c *conn }

func (l countingReader) Read(b []byte) (int, error) {
	n, err := l.c.nc.Read(b)
	if n > 0 {
		l.c.lastRead.Store(time.Now().UnixNano())
	}
	return n, err
}

// A machine that loses power or network closes no connection, and TCP would wait for minutes. So the client pings a
// quiet server. A late server may be down or only busy: the client sends repeatable requests to another node, and the
// others wait until the connection is closed as dead.
const (
	quietTime = 500 * time.Millisecond // time without received bytes, while a request waits, before a ping
	lateTime  = 500 * time.Millisecond // time after the ping until the server is late, if there are others
)

var (
	errSilent = errors.New("connection lost: the server does not answer")
	errLate   = errors.New("the server is late")
)

func (c *conn) silence() time.Duration { return time.Since(time.Unix(0, c.lastRead.Load())) }

// probe pings a quiet server in the background, and closes the connection if no bytes arrive.
func (c *conn) probe() {
	if c.silence() < quietTime || !c.probing.CompareAndSwap(false, true) {
		return
	}
	go func() { // ends in a few seconds
		defer c.probing.Store(false)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(waitingForLate(context.Background()), c.pong)
		defer cancel()
		if c.late != nil {
			t := time.AfterFunc(lateTime, func() {
				if c.silence() > time.Since(begun) {
					c.lateOnce.Do(func() { close(c.late) })
				}
			})
			defer t.Stop()
		}
		if err := c.ask(ctx, wire.OpPing, nil, wire.OpPong, nil); err != nil && c.silence() > time.Since(begun) {
			c.closeWith(errSilent)
		}
	}()
}

type waitForLateKey struct{}

// waitingForLate marks the context of a request that must wait for a late server, because it must not be sent twice.
func waitingForLate(ctx context.Context) context.Context {
	return context.WithValue(ctx, waitForLateKey{}, true)
}

func (c *conn) openStream() (uint32, chan wire.Frame, error) {
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

func (c *conn) closeStream(id uint32) {
	c.mu.Lock()
	ch := c.streams[id]
	delete(c.streams, id)
	last := c.retired && len(c.streams) == 0
	c.mu.Unlock()
	for drained := ch == nil; !drained; { // unblock the reader, which may be sending one more frame
		select {
		case <-ch:
		default:
			drained = true
		}
	}
	if last {
		c.closeWith(ErrClosed)
	}
}

// sendTimeout bounds the writing of a frame. A caller's deadline does not apply, because the connection is shared.
const sendTimeout = 30 * time.Second

// send encodes and writes a request. If ctx ends, send returns, and the frame is still written completely.
func (c *conn) send(ctx context.Context, op wire.Op, stream uint32, m wire.Message) (err error) {
	select {
	case c.writeSlot <- struct{}{}:
	case <-c.done:
		return c.err
	case <-ctx.Done():
		c.probe() // the write of another caller may be blocked
		return ctx.Err()
	}
	if m == nil {
		c.buf = wire.AppendFrame(c.buf[:0], wire.Empty(op, stream))
	} else if c.buf, err = wire.AppendPack(c.buf[:0], op, stream, m, false); err != nil {
		<-c.writeSlot
		return &Error{Code: wire.CodeInvalidPayload, Message: err.Error()}
	}
	written := make(chan error, 1)
	go func() { // ends with the write, which has a timeout
		err := c.write()
		<-c.writeSlot
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

// write writes the frame in buf. On an error it closes the connection.
func (c *conn) write() error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(c.buf)
	if err != nil {
		c.closeWith(fmt.Errorf("connection lost: %w", err)) // the frame may be half written
	}
	if cap(c.buf) > 1<<20 {
		c.buf = nil
	}
	return err
}

// stream sends a request and calls f with its answer frames until f returns last.
func (c *conn) stream(ctx context.Context, op wire.Op, m wire.Message, f func(wire.Frame) (last bool, err error)) error {
	id, ch, err := c.openStream()
	if err != nil {
		return err
	}
	defer c.closeStream(id)
	if err := c.send(ctx, op, id, m); err != nil {
		return err
	}
	for {
		fr, err := c.await(ctx, ch)
		if err != nil {
			return err
		}
		if err := errorIn(fr); err != nil {
			return err
		}
		if last, err := f(fr); last || err != nil {
			return err
		}
	}
}

// await returns the next frame of a stream, also one that arrived before the connection ended.
func (c *conn) await(ctx context.Context, ch <-chan wire.Frame) (wire.Frame, error) {
	t := time.NewTimer(quietTime)
	defer t.Stop()
	late := c.late
	if late != nil && ctx.Value(waitForLateKey{}) != nil {
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
			c.probe() // so that several calls shorter than quietTime also detect a silent server
			return wire.Frame{}, ctx.Err()
		}
	}
}

// ask sends a request whose answer is one frame.
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

// notLeaderError is the rejection of a write by a node that is not the leader. It may name the leader.
type notLeaderError struct {
	leader string
	lost   bool // there is no quorum, so no leader is expected soon
	err    error
}

func (r *notLeaderError) Error() string { return r.err.Error() }

// errorIn returns the error in a frame; nil for other frames.
func errorIn(f wire.Frame) error {
	switch f.Op {
	case wire.OpAuthFail:
		var m wire.AuthFail
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			return err
		}
		if m.Retry {
			return &Error{Code: wire.CodeNoQuorum, Message: m.Reason} // the code with which the node rejects other requests in this state
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
		r := &notLeaderError{lost: l.Lost, err: e}
		if l.Addr != nil {
			r.leader = *l.Addr
		}
		return r
	}
	return nil
}

// IsCode reports whether an error is a server's Error with this code.
func IsCode(err error, code wire.Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
