package wireport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// Limits of a connection.
const (
	streamsPerConn = 256         // running requests of a connection
	streamQueue    = 64          // waiting requests of a stream
	subsPerConn    = 256         // subscriptions of a connection
	largeTimeout   = time.Minute // for a large frame; pieceTimeout for each piece of it
	pieceTimeout   = 10 * time.Second
	restTimeout    = 15 * time.Second // for the answers to a client that has closed its write side

	earlyBuffer   = 4 << 10 // of a connection before AUTH
	earlyFrame    = 8 << 10 // the largest AUTH frame
	sessionBuffer = 32 << 10
)

// session serves one connection.
type session struct {
	w     *Server
	nc    net.Conn
	place *access.Place
	in    *bufio.Reader
	r     *wire.Reader
	ctx   context.Context
	cut   context.CancelFunc

	out sync.Mutex // guards buf and writes; the only lock held during I/O, so that frames do not mix
	buf []byte

	mu      sync.Mutex
	caller  api.Caller
	streams map[uint32]*stream
	subs    map[uint32]subscription
	asked   sync.WaitGroup // unanswered requests
	tasks   sync.WaitGroup // all other goroutines
}

// stream holds the waiting requests of a stream id. They run one after the other.
type stream struct {
	waiting []incoming
	over    bool // the connection ends: no more requests are served
}

// incoming is a request with its share of the byte budget.
type incoming struct {
	wire.Frame
	release func() // nil for small ones
}

func (a incoming) done() {
	if a.release != nil {
		a.release()
	}
}

func newSession(w *Server, nc net.Conn) *session {
	ss := &session{w: w, nc: nc, streams: map[uint32]*stream{}, subs: map[uint32]subscription{}}
	ss.ctx, ss.cut = context.WithCancel(w.ctx)
	ss.in = bufio.NewReaderSize(nc, earlyBuffer)
	ss.r = wire.NewReader(ss.in, earlyFrame)
	return ss
}

// close closes the connection. It is safe to call concurrently and repeatedly.
func (ss *session) close() {
	ss.cut()
	ss.nc.Close()
}

// currentCaller returns the client, with the database that it has selected.
func (ss *session) currentCaller() api.Caller {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.caller
}

func (ss *session) run() {
	defer ss.tasks.Wait()
	defer ss.asked.Wait()
	defer ss.close()
	if err := ss.nc.SetDeadline(time.Now().Add(ss.w.cfg.AuthTimeout)); err != nil {
		return
	}
	f, err := ss.r.Next() // where TLS is on, the handshake goes first
	if err != nil {
		ss.rejectFrame(err)
		return
	}
	if !ss.auth(ss.ctx, f) {
		return
	}
	ss.r = wire.NewReader(bufio.NewReaderSize(ss.in, sessionBuffer), wire.MaxLength)
	if err := ss.nc.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	var release func()
	var until time.Time // when a large frame must be there; zero before it begins
	ss.r.Announce(large.From, func(n int) error {
		var ok bool
		if release, ok = ss.w.cfg.Budget.Acquire(ss.ctx, ss.currentCaller().Principal(), n); !ok {
			return ss.ctx.Err()
		}
		until = time.Now().Add(largeTimeout)
		return nil
	}, func() error {
		next := time.Now().Add(pieceTimeout)
		if !until.IsZero() && next.After(until) {
			next = until
		}
		return ss.nc.SetReadDeadline(next)
	})
	for {
		release, until = nil, time.Time{}
		f, err := ss.r.Next()
		a := incoming{f, release}
		if err == nil && release != nil {
			err = ss.nc.SetReadDeadline(time.Time{})
		}
		if err != nil {
			a.done()
			if errors.Is(err, io.EOF) {
				ss.awaitAnswers()
			}
			ss.rejectFrame(err)
			return
		}
		if !ss.dispatch(a) {
			return
		}
	}
}

// awaitAnswers waits for the answers to a client that has closed its write side.
func (ss *session) awaitAnswers() {
	defer time.AfterFunc(restTimeout, ss.close).Stop()
	ss.asked.Wait()
}

// rejectFrame answers a frame after which the connection cannot continue.
func (ss *session) rejectFrame(err error) {
	if fe, ok := errors.AsType[*wire.FrameError](err); ok {
		_ = ss.fail(wire.Frame{}, &wire.Error{Code: wire.CodeInvalidPayload, Message: fe.Text})
	}
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
		said := &wire.Error{Code: wire.CodeInvalidPayload, Message: "this port speaks TLS", Details: wire.JSON(`{"tls":true}`)}
		if b, err := wire.AppendPack(nil, wire.OpError, 0, said, false); err == nil {
			_, _ = plain.Conn.Write(b) // nothing was sent yet: it can be told in the clear
		}
	}
}

// dispatch passes a frame to its stream. The requests of a stream run one after the other, and streams run
// concurrently.
func (ss *session) dispatch(f incoming) bool {
	ss.mu.Lock()
	st, busy := ss.streams[f.Stream]
	over := busy && st.over
	full := busy && len(st.waiting) >= streamQueue || !busy && len(ss.streams) >= streamsPerConn
	switch {
	case over, full:
	case busy:
		st.waiting = append(st.waiting, f)
	default:
		ss.streams[f.Stream] = &stream{}
		ss.asked.Go(func() { ss.work(f) })
	}
	ss.mu.Unlock()
	if over || full {
		f.done()
		return !over && ss.fail(f.Frame, overloaded) == nil
	}
	return true
}

var overloaded = &wire.Error{Code: wire.CodeInternal, Message: "server overloaded; retry", Details: wire.JSON(`{"retry_after_ms":100}`)}

func (ss *session) work(f incoming) {
	for {
		done, ok := ss.w.slots.Acquire(ss.ctx, ss.currentCaller().Principal(), 1)
		if !ok {
			f.done()
			ss.releaseQueued(f.Stream)
			return
		}
		err := ss.serve(f.Frame)
		done()
		f.done()
		if err != nil {
			ss.releaseQueued(f.Stream)
			ss.close()
			return
		}
		ss.mu.Lock()
		st := ss.streams[f.Stream]
		if len(st.waiting) == 0 {
			delete(ss.streams, f.Stream)
			ss.mu.Unlock()
			return
		}
		f, st.waiting = st.waiting[0], st.waiting[1:]
		ss.mu.Unlock()
	}
}

// releaseQueued releases the byte budget of requests that will not be served.
func (ss *session) releaseQueued(id uint32) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	st := ss.streams[id]
	for _, f := range st.waiting {
		f.done()
	}
	st.waiting, st.over = nil, true
}

// connLost is an error that ends the connection: a write failed, perhaps in the middle of an answer.
type connLost struct{ error }

// reply sends a message as the answer to a frame. Its error is a connLost.
func (ss *session) reply(to wire.Frame, op wire.Op, m wire.Message) (err error) {
	ss.out.Lock()
	defer ss.out.Unlock()
	if ss.buf, err = wire.AppendPack(ss.buf[:0], op, to.Stream, m, to.JSON()); err != nil {
		return &connLost{err}
	}
	return ss.send(ss.buf)
}

// flushSize is the number of bytes of frames that are collected before they are written.
const flushSize = 32 << 10

// replyAll sends n messages as answers to a frame, many of them in one write. Frames of other streams may be sent
// between two writes.
func (ss *session) replyAll(to wire.Frame, n int, answer func(i int) (wire.Op, wire.Message)) error {
	some := func(i int) (_ int, err error) {
		ss.out.Lock()
		defer ss.out.Unlock()
		for ss.buf = ss.buf[:0]; i < n && len(ss.buf) < flushSize; i++ {
			op, m := answer(i)
			if ss.buf, err = wire.AppendPack(ss.buf, op, to.Stream, m, to.JSON()); err != nil {
				return i, &connLost{err}
			}
		}
		return i, ss.send(ss.buf)
	}
	for i := 0; i < n; {
		var err error
		if i, err = some(i); err != nil {
			return err
		}
	}
	return nil
}

func (ss *session) empty(to wire.Frame, op wire.Op) error {
	ss.out.Lock()
	defer ss.out.Unlock()
	ss.buf = wire.AppendFrame(ss.buf[:0], wire.Empty(op, to.Stream))
	return ss.send(ss.buf)
}

func (ss *session) send(b []byte) error {
	if err := ss.nc.SetWriteDeadline(time.Now().Add(ss.w.cfg.WriteTimeout)); err != nil {
		return &connLost{err}
	}
	_, err := ss.nc.Write(b)
	if cap(ss.buf) > 1<<20 {
		ss.buf = nil
	}
	if err != nil {
		return &connLost{err}
	}
	return nil
}

func (ss *session) fail(to wire.Frame, e *wire.Error) error { return ss.reply(to, wire.OpError, e) }
