package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/wire/large"
)

// Config configures a server. Socket and Token are required. Comments begin with the default of a zero value.
type Config struct {
	Socket       string
	Token        string
	Version      string     // "dev"; the answer of server.version
	SpillDir     string     // the system's temporary directory; holds old frames
	Keys         *seal.Ring // encrypts the old frames; nil: they are plain
	Replay       int64      // 1 GiB; bytes of old frames that are kept for one process
	WarmPath     bool       // read the PATH of the login shell at the start, not at the first spawn
	KeepChildren bool       // processes outlive the server
	Door         api.At     // checks operations on the host; its scopes are api.Programs, api.Files, api.Git and api.Stop
	Stop         func()     // called by server.shutdown, before the server stops
	Logger       *slog.Logger
}

// Server listens on one socket and keeps the table of processes.
type Server struct {
	cfg     Config
	methods []method
	socket  *serve.Socket
	path    func() string // PATH of commands; the first call runs the login shell
	count   counters
	turns   large.Turns

	*serve.Work

	mu    sync.Mutex
	procs map[string]*proc
}

// counters holds the values of /metrics.
type counters struct {
	conns, spawns, exits, reattaches, output, input atomic.Int64
}

// exitedRetention bounds how long clients can reattach to an ended process.
const exitedRetention = 15 * time.Minute

// Listen takes over the socket and serves until Close. It rejects a path that holds a file of another kind.
func Listen(cfg Config) (*Server, error) {
	if cfg.Token == "" {
		return nil, errors.New("an empty token would let every client in")
	}
	if cfg.Door.Host == nil {
		return nil, errors.New("no door: without a node, process.Alone is one")
	}
	cfg.Version = cmp.Or(cfg.Version, "dev")
	cfg.SpillDir = cmp.Or(cfg.SpillDir, os.TempDir())
	cfg.Replay = cmp.Or(cfg.Replay, 1<<30)
	s := &Server{cfg: cfg, methods: methods(), turns: large.NewTurns(), Work: serve.NewWork(cfg.Logger), procs: map[string]*proc{}}
	s.path = sync.OnceValue(s.loginPath)
	setCloseOnExec()
	catchIgnoredSignals()
	if err := s.claim(); err != nil {
		return nil, fmt.Errorf("listen unix: %w", err)
	}
	if cfg.WarmPath {
		s.Go(func() { s.path() })
	}
	s.Accept(s.socket, "process", maxConns, s.serveConn, nil)
	s.Go(s.sweep)
	return s, nil
}

// claim takes the socket over, even from a live server. For a file that is not a socket it returns the error of bind.
func (s *Server) claim() (err error) {
	s.socket, err = serve.Claim(s.cfg.Socket, nil)
	if errors.Is(err, serve.ErrNoSocket) {
		return fmt.Errorf("listen unix %s: bind: %w", s.cfg.Socket, syscall.EADDRINUSE)
	}
	return err
}

// maxConns bounds the clients, because each may have an incomplete line of 1 MiB in memory.
const maxConns = 1024

func (s *Server) serveConn(nc net.Conn) {
	c := newConn(s, nc)
	defer context.AfterFunc(s.Ctx, c.end)()
	s.count.conns.Add(1)
	s.Log.Info("[Server] New connection from: " + nc.RemoteAddr().String())
	c.run()
	s.Log.Info("[Server] Connection closed: " + nc.RemoteAddr().String())
}

// register adds a process to the table. It detaches and kills the process that had the same id. A closing server
// registers no process, because nothing would end it.
func (s *Server) register(p *proc) bool {
	s.mu.Lock()
	if s.Ctx.Err() != nil {
		s.mu.Unlock()
		p.signal(syscall.SIGKILL)
		return false
	}
	old := s.procs[p.id]
	s.procs[p.id] = p
	s.mu.Unlock()
	if old != nil {
		old.detach()
		old.signal(syscall.SIGKILL)
		s.Go(func() { // discard its frames after its end
			select {
			case <-old.done:
			case <-s.Ctx.Done():
			}
			old.discard()
		})
	}
	return true
}

func (s *Server) lookup(id string) *proc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.procs[id]
}

// sweep removes processes that ended long ago.
func (s *Server) sweep() {
	for range pause.Ticks(s.Ctx.Done(), time.Minute) {
		s.mu.Lock()
		var old []*proc
		for id, p := range s.procs {
			p.mu.Lock()
			if !p.running && time.Since(p.ended) > exitedRetention && len(p.subscribers) == 0 {
				old = append(old, p)
				delete(s.procs, id)
			}
			p.mu.Unlock()
		}
		s.mu.Unlock()
		for _, p := range old {
			p.discard()
		}
	}
}

// Done returns a channel that is closed when a client has requested a shutdown, or Close was called.
func (s *Server) Done() <-chan struct{} { return s.Open.Done() }

// closeTimeout bounds Close, so that a child that cannot be killed does not block it.
const closeTimeout = 3 * time.Second

// Close stops listening, removes the socket if it is still that of this server, kills the processes and closes the
// connections.
func (s *Server) Close() error {
	s.mu.Lock()
	closed := s.Ctx.Err() != nil
	s.Cancel() // under the lock, so that no process is registered after it
	procs := slices.Collect(maps.Values(s.procs))
	s.mu.Unlock()
	if closed {
		return nil
	}
	err := s.socket.Close()
	if s.cfg.KeepChildren {
		n := 0
		for _, p := range procs {
			if p.alive() {
				n++
			}
		}
		s.Log.Info("[Server] -keep-children: leaving " + itoa(n) + " running child process(es) alive across shutdown")
	} else {
		for _, p := range procs {
			p.signal(syscall.SIGKILL)
		}
	}
	if !s.cfg.KeepChildren && !s.Wait(closeTimeout) { // a child that has not ended after SIGKILL
		s.Log.Warn("[Server] some processes did not end")
	}
	for _, p := range procs {
		p.discard()
	}
	return err
}
