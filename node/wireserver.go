package node

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// What a client's connection may do.
const (
	writeTimeout   = 30 * time.Second // a client that reads nothing for this long is gone
	streamsPerConn = 256              // requests under way on one connection
	streamQueue    = 64               // requests waiting behind another of their stream
	largeTimeout   = time.Minute      // in which a large frame has to come

	earlyBuffer   = 4 << 10 // of a connection whose client has not shown a token
	earlyFrame    = 8 << 10 // the longest AUTH: a client without a token is given no more memory than a token needs
	sessionBuffer = 32 << 10
)

// wireServer accepts the clients' binary protocol.
type wireServer struct {
	s        *Service
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	patience time.Duration // with a client that does not read
	accepted chan struct{} // closed when no more connections are taken, so that tasks only shrink
	slots    chan struct{} // requests under way over all connections
	limit    *access.Conns

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
	ln       net.Listener
}

func newWireServer(s *Service) *wireServer {
	w := &wireServer{s: s, patience: cmp.Or(s.cfg.Limits.writeTimeout, writeTimeout), accepted: make(chan struct{}), slots: make(chan struct{}, s.cfg.Limits.MaxInFlight), limit: access.NewConns(s.cfg.Limits.MaxConns, s.cfg.Limits.MaxConnsPerIP), sessions: map[*session]struct{}{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

func (w *wireServer) run(ln net.Listener) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.ln = ln
	w.mu.Unlock()
	defer close(w.accepted)
	w.tasks.Go(w.watchTokens)
	for {
		nc, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			w.s.log.Warn("accept", "surface", "wire", "err", err)
			select {
			case <-time.After(10 * time.Millisecond): // out of descriptors: give others a chance to end
			case <-w.ctx.Done():
			}
			continue
		}
		ss := newSession(w, nc)
		if !w.add(ss) {
			nc.Close()
			continue
		}
		w.tasks.Go(func() {
			defer w.remove(ss)
			ss.run()
		})
	}
}

// add counts a connection in; it is counted out by remove, whatever becomes of it.
func (w *wireServer) add(ss *session) bool {
	leave, ok := w.limit.Enter(ss.nc.RemoteAddr())
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		leave()
		return false
	}
	ss.leave = leave
	w.sessions[ss] = struct{}{}
	w.s.conns.Add(1)
	return true
}

func (w *wireServer) remove(ss *session) {
	ss.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, ss)
	w.s.conns.Add(-1)
	ss.leave()
}

// tokenCheck is how often tokens are looked at without a reason: some expire, and one may be revoked between
// the look at it and the opening of its connection.
const tokenCheck = 2 * time.Second

// watchTokens closes the connections of tokens that were revoked, have expired, or whose database is gone.
func (w *wireServer) watchTokens() {
	tick := time.NewTicker(tokenCheck)
	defer tick.Stop()
	for w.ctx.Err() == nil {
		sub := w.s.commit.Subscribe()
		w.checkTokens() // what happened while nobody watched
		for open := true; open; {
			select {
			case batch, ok := <-sub.C:
				open = ok
				if slices.ContainsFunc(sub.Take(batch), access.EndsTokens) {
					w.checkTokens()
				}
			case <-tick.C:
				w.checkTokens()
			case <-w.ctx.Done():
				open = false
			}
		}
		sub.Close()
	}
}

func (w *wireServer) checkTokens() {
	w.mu.Lock()
	all := make([]*session, 0, len(w.sessions))
	for ss := range w.sessions {
		all = append(all, ss)
	}
	w.mu.Unlock()
	for _, ss := range all {
		if hash := ss.tokenHash(); hash != "" && !w.s.access.Holds(hash) {
			ss.end()
		}
	}
}

func (w *wireServer) close() error {
	w.mu.Lock()
	w.closed = true
	ln := w.ln
	w.mu.Unlock()
	if ln != nil {
		ln.Close()
		<-w.accepted
	}
	w.finish(time.Second)
	w.cancel()
	w.mu.Lock()
	for ss := range w.sessions {
		ss.end()
	}
	w.mu.Unlock()
	w.tasks.Wait()
	return nil
}

// finish lets requests under way end, for a while.
func (w *wireServer) finish(patience time.Duration) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for range cap(w.slots) {
		select {
		case w.slots <- struct{}{}: // every slot taken by us means that no request is under way
		case <-deadline.C:
			return
		}
	}
}

// session is one client's connection.
type session struct {
	w     *wireServer
	nc    net.Conn
	leave func() // counts the connection out
	in    *bufio.Reader
	r     *wire.Reader
	ctx   context.Context
	cut   context.CancelFunc

	out sync.Mutex // one frame at a time leaves; held over the write, and nothing else is
	buf []byte

	mu      sync.Mutex
	caller  api.Caller
	authed  bool
	streams map[uint32]*stream
	subs    map[uint32]subscribed
	tasks   sync.WaitGroup
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

func newSession(w *wireServer, nc net.Conn) *session {
	ss := &session{w: w, nc: nc, streams: map[uint32]*stream{}, subs: map[uint32]subscribed{}}
	ss.ctx, ss.cut = context.WithCancel(w.ctx)
	ss.in = bufio.NewReaderSize(nc, earlyBuffer)
	ss.r = wire.NewReader(ss.in, earlyFrame)
	return ss
}

// end closes the connection; it may be called by anybody, any number of times.
func (ss *session) end() {
	ss.cut()
	ss.nc.Close()
}

func (ss *session) tokenHash() string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.caller.Token
}

func (ss *session) who() api.Caller {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.caller
}

func (ss *session) run() {
	defer ss.tasks.Wait()
	defer ss.end()
	if err := ss.nc.SetDeadline(time.Now().Add(ss.w.s.cfg.Limits.AuthTimeout)); err != nil {
		return
	}
	f, err := ss.r.Next() // where TLS is on, the handshake goes first
	if err != nil {
		ss.refuse(err)
		return
	}
	if !ss.auth(f) {
		return
	}
	ss.r = wire.NewReader(bufio.NewReaderSize(ss.in, sessionBuffer), wire.MaxLength)
	if err := ss.nc.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	var release func()
	ss.r.Announce(large.From, func(n int) error {
		var ok bool
		if release, ok = ss.w.s.bodies.Acquire(ss.ctx, n); !ok {
			return ss.ctx.Err()
		}
		return ss.nc.SetReadDeadline(time.Now().Add(largeTimeout))
	})
	for {
		release = nil
		f, err := ss.r.Next()
		a := incoming{f, release}
		if err == nil && release != nil {
			err = ss.nc.SetReadDeadline(time.Time{})
		}
		if err != nil {
			a.done()
			ss.refuse(err)
			return
		}
		if !ss.dispatch(a) {
			return
		}
	}
}

// refuse answers a frame from which the stream cannot go on.
func (ss *session) refuse(err error) {
	var fe *wire.FrameError
	if errors.As(err, &fe) {
		_ = ss.fail(wire.Frame{}, &wire.Error{Code: wire.CodeInvalidPayload, Message: fe.Text})
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil {
		said := &wire.Error{Code: wire.CodeInvalidPayload, Message: "this port speaks TLS", Details: wire.JSON(`{"tls":true}`)}
		if b, err := wire.AppendPack(nil, wire.OpError, 0, said, false); err == nil {
			_, _ = plain.Conn.Write(b) // nothing was sent yet: it can be told in the clear
		}
	}
}

// dispatch hands a frame to its stream. A stream's requests run one after the other, streams side by side.
func (ss *session) dispatch(f incoming) bool {
	ss.mu.Lock()
	if st, busy := ss.streams[f.Stream]; busy {
		if st.over {
			ss.mu.Unlock()
			f.done()
			return false
		}
		full := len(st.waiting) >= streamQueue
		if !full {
			st.waiting = append(st.waiting, f)
		}
		ss.mu.Unlock()
		if full {
			f.done()
			return ss.fail(f.Frame, overloaded) == nil
		}
		return true
	}
	if len(ss.streams) >= streamsPerConn {
		ss.mu.Unlock()
		f.done()
		return ss.fail(f.Frame, overloaded) == nil
	}
	ss.streams[f.Stream] = &stream{}
	ss.mu.Unlock()
	ss.tasks.Go(func() { ss.work(f) })
	return true
}

var overloaded = &wire.Error{Code: wire.CodeInternal, Message: "server overloaded; retry", Details: wire.JSON(`{"retry_after_ms":100}`)}

func (ss *session) work(f incoming) {
	for {
		select {
		case ss.w.slots <- struct{}{}:
			err := ss.serve(f.Frame)
			<-ss.w.slots
			f.done()
			if err != nil {
				ss.drop(f.Stream)
				ss.end()
				return
			}
		case <-ss.ctx.Done():
			f.done()
			ss.drop(f.Stream)
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

// drop gives back the bytes of requests that will not be served.
func (ss *session) drop(id uint32) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	st := ss.streams[id]
	for _, f := range st.waiting {
		f.done()
	}
	st.waiting, st.over = nil, true
}

// reply sends a message as an answer to a frame. An error means that the connection is gone.
func (ss *session) reply(to wire.Frame, op wire.Op, m wire.Message) (err error) {
	ss.out.Lock()
	defer ss.out.Unlock()
	if ss.buf, err = wire.AppendPack(ss.buf[:0], op, to.Stream, m, to.JSON()); err != nil {
		return err
	}
	return ss.send(ss.buf)
}

// gathered is how many bytes of frames make a write.
const gathered = 32 << 10

// replyAll sends n messages as answers to a frame, as many of them in a write as come together. Frames of other streams may leave
// between two writes.
func (ss *session) replyAll(to wire.Frame, n int, answer func(i int) (wire.Op, wire.Message)) error {
	some := func(i int) (_ int, err error) {
		ss.out.Lock()
		defer ss.out.Unlock()
		for ss.buf = ss.buf[:0]; i < n && len(ss.buf) < gathered; i++ {
			op, m := answer(i)
			if ss.buf, err = wire.AppendPack(ss.buf, op, to.Stream, m, to.JSON()); err != nil {
				return i, err
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
	if err := ss.nc.SetWriteDeadline(time.Now().Add(ss.w.patience)); err != nil {
		return err
	}
	_, err := ss.nc.Write(b)
	if cap(ss.buf) > 1<<20 {
		ss.buf = nil
	}
	return err
}

func (ss *session) fail(to wire.Frame, e *wire.Error) error { return ss.reply(to, wire.OpError, e) }
