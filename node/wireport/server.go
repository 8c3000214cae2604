package wireport

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/accept"
	"github.com/cairndb/cairn/wire/large"
)

// Config configures a port. All fields are required, except for the flags.
type Config struct {
	Door   Door
	Access *access.Control
	Conns  *access.Conns // of this port
	Errors Errors
	Log    *slog.Logger

	WaitOpen func(context.Context) error // returns when the node answers more than stale recalls
	Indexed  func() oplog.Index          // how far this node's answers reflect the log

	Budget *large.Shares // of the bytes of requests, shared with other ports
	Turns  large.Turns   // for decoding large requests, shared with other ports

	Lenient     bool          // accepts requests of the oldest clients
	Forward     bool          // a follower forwards writes; otherwise it rejects them with the leader's address
	MaxInFlight int           // requests under way over all connections
	AuthTimeout time.Duration // until the first frame

	WriteTimeout time.Duration // after it a client that reads nothing is disconnected
}

// Door also checks a request before it is read.
type Door interface {
	api.Door
	// Admit returns the error that Do would return for any content of the request, and counts one operation. Do gets
	// the returned caller and counts only further operations. Without a row, Admit only counts.
	Admit(c api.Caller, op *api.Op) (api.Caller, error)
}

// Server accepts the clients of one port.
type Server struct {
	cfg      Config
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	accepted chan struct{} // closed when no more connections are taken, so that tasks only shrink
	slots    *large.Shares // requests under way over all connections

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
	ln       net.Listener
}

// New returns a server that does not listen yet.
func New(cfg Config) *Server {
	w := &Server{cfg: cfg, accepted: make(chan struct{}), slots: large.NewShares(cfg.MaxInFlight), sessions: map[*session]struct{}{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Run accepts connections until the server is closed.
func (w *Server) Run(ln net.Listener) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.ln = accept.Patiently(ln, "wire", w.cfg.Log)
	w.mu.Unlock()
	defer close(w.accepted)
	w.tasks.Go(w.watchTokens)
	for {
		nc, err := w.ln.Accept()
		if err != nil {
			return nil // it is closed
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

// add registers a connection and reports whether it may be served. If so, remove must follow.
func (w *Server) add(ss *session) bool {
	place, ok := w.cfg.Conns.Enter(ss.nc)
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		place.Leave()
		return false
	}
	ss.place = place
	w.sessions[ss] = struct{}{}
	return true
}

func (w *Server) remove(ss *session) {
	ss.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, ss)
	ss.place.Leave()
}

// tokenCheckInterval is the interval at which tokens are checked: they may expire, or be revoked between their check
// and the registration of the connection.
const tokenCheckInterval = 2 * time.Second

// watchTokens closes the connections of tokens that were revoked, have expired, or whose database is gone.
func (w *Server) watchTokens() {
	tick := time.NewTicker(tokenCheckInterval)
	defer tick.Stop()
	for {
		ended := w.cfg.Access.TokensEnded()
		w.checkTokens()
		select {
		case <-ended:
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
	}
}

func (w *Server) checkTokens() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.sessions))
	w.mu.Unlock()
	for _, ss := range all {
		if !w.cfg.Access.Holds(ss.currentCaller()) {
			ss.close()
		}
	}
}

// Close stops listening, waits a second for running requests, and closes all connections.
func (w *Server) Close() error {
	w.mu.Lock()
	w.closed = true
	ln := w.ln
	w.mu.Unlock()
	if ln != nil {
		ln.Close()
		<-w.accepted
	}
	w.awaitRequests(time.Second)
	w.cancel()
	w.mu.Lock()
	for ss := range w.sessions {
		ss.close()
	}
	w.mu.Unlock()
	w.tasks.Wait()
	return nil
}

// awaitRequests waits for running requests, for a limited time.
func (w *Server) awaitRequests(patience time.Duration) {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.slots.Drain(ctx)
}
