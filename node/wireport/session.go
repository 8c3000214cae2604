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

// Bounds of a client's connection.
const (
	streamsPerConn = 256         // requests under way on one connection
	streamQueue    = 64          // requests waiting behind another of their stream
	subsPerConn    = 256         // subscriptions; a token that has as many wants another connection
	largeTimeout   = time.Minute // in which a large frame has to come, each piece of it in pieceTimeout
	pieceTimeout   = 10 * time.Second
	restTimeout    = 15 * time.Second // in which a client that sends no more gets the answers to what it has asked

	earlyBuffer   = 4 << 10 // of a connection whose client has not shown a token
	earlyFrame    = 8 << 10 // the longest AUTH: a client without a token is given no more memory than a token needs
	sessionBuffer = 32 << 10
)

// session is one client's connection.
type session struct {
	w     *Server
	nc    net.Conn
	place *access.Place
	in    *bufio.Reader
	r     *wire.Reader
	ctx   context.Context
	cut   context.CancelFunc

	out sync.Mutex // of buf and of writing; the only lock that is held over I/O, so that frames do not mix
	buf []byte

	mu      sync.Mutex
	caller  api.Caller
	streams map[uint32]*stream
	subs    map[uint32]subscribed
	asked   sync.WaitGroup // requests that are not answered yet
	tasks   sync.WaitGroup // whatever else runs
}

// stream is the requests of one stream id: done one after the other.
type stream struct {
	waiting []incoming
	over    bool // the connection ends: nothing is served any more
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
	ss := &session{w: w, nc: nc, streams: map[uint32]*stream{}, subs: map[uint32]subscribed{}}
	ss.ctx, ss.cut = context.WithCancel(w.ctx)
	ss.in = bufio.NewReaderSize(nc, earlyBuffer)
	ss.r = wire.NewReader(ss.in, earlyFrame)
	return ss
}

// end closes the connection. It may be called from any goroutine, any number of times.
func (ss *session) end() {
	ss.cut()
	ss.nc.Close()
}

// currentCaller is the client, in the database that it has selected.
func (ss *session) currentCaller() api.Caller {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.caller
}

func (ss *session) run() {
	defer ss.tasks.Wait()
	defer ss.asked.Wait()
	defer ss.end()
	if err := ss.nc.SetDeadline(time.Now().Add(ss.w.cfg.AuthTimeout)); err != nil {
		return
	}
	f, err := ss.r.Next() // where TLS is on, the handshake goes first
	if err != nil {
		ss.refuse(err)
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
				ss.answerRest()
			}
			ss.refuse(err)
			return
		}
		if !ss.dispatch(a) {
			return
		}
	}
}

// answerRest waits until the client's requests are answered: it has ended its side, and may still read.
func (ss *session) answerRest() {
	defer time.AfterFunc(restTimeout, ss.end).Stop()
	ss.asked.Wait()
}

// refuse answers a frame from which the stream cannot go on.
func (ss *session) refuse(err error) {
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

// dispatch hands a frame to its stream. A stream's requests run one after the other, streams side by side.
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
			ss.drop(f.Stream)
			return
		}
		err := ss.serve(f.Frame)
		done()
		f.done()
		if err != nil {
			ss.drop(f.Stream)
			ss.end()
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

// drop releases the byte budget of requests that will not be served.
func (ss *session) drop(id uint32) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	st := ss.streams[id]
	for _, f := range st.waiting {
		f.done()
	}
	st.waiting, st.over = nil, true
}

// lost is an error that ends the connection: a write to the client failed, perhaps in the middle of an answer.
type lost struct{ error }

// reply sends a message as an answer to a frame. An error of it is a lost connection.
func (ss *session) reply(to wire.Frame, op wire.Op, m wire.Message) (err error) {
	ss.out.Lock()
	defer ss.out.Unlock()
	if ss.buf, err = wire.AppendPack(ss.buf[:0], op, to.Stream, m, to.JSON()); err != nil {
		return &lost{err}
	}
	return ss.send(ss.buf)
}

// gathered sets how many bytes of frames are gathered before they are written.
const gathered = 32 << 10

// replyAll sends n messages as answers to a frame, as many of them in a write as come together. Frames of other streams
// may leave between two writes.
func (ss *session) replyAll(to wire.Frame, n int, answer func(i int) (wire.Op, wire.Message)) error {
	some := func(i int) (_ int, err error) {
		ss.out.Lock()
		defer ss.out.Unlock()
		for ss.buf = ss.buf[:0]; i < n && len(ss.buf) < gathered; i++ {
			op, m := answer(i)
			if ss.buf, err = wire.AppendPack(ss.buf, op, to.Stream, m, to.JSON()); err != nil {
				return i, &lost{err}
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
		return &lost{err}
	}
	_, err := ss.nc.Write(b)
	if cap(ss.buf) > 1<<20 {
		ss.buf = nil
	}
	if err != nil {
		return &lost{err}
	}
	return nil
}

func (ss *session) fail(to wire.Frame, e *wire.Error) error { return ss.reply(to, wire.OpError, e) }
