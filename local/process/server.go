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

// Config says what a server is. Socket and Token are required; a zero elsewhere means the default next to it.
type Config struct {
	Socket       string
	Token        string
	Version      string     // "dev": what server.version tells
	SpillDir     string     // the system's temporary directory: where old frames are kept
	Keys         *seal.Ring // what they are encrypted with; nil: they are not
	Replay       int64      // 1 GiB: how many bytes of old frames are kept for one process
	WarmPath     bool       // asks the login shell for its PATH at the start, not when the first process needs it
	KeepChildren bool       // processes outlive the server
	Door         api.At     // decides what clients may do to the host: api.Programs, api.Files, api.Stop
	Stop         func()     // what server.shutdown calls; the server's own end
	Logger       *slog.Logger
}

// Server listens on one socket and keeps the table of processes.
type Server struct {
	cfg     Config
	methods []method
	socket  *serve.Socket
	path    func() string // PATH that commands are looked up in; the first call asks the login shell
	count   counters
	turns   large.Turns

	*serve.Work

	mu    sync.Mutex
	procs map[string]*proc
}

// counters holds the numbers that /metrics shows.
type counters struct {
	conns, spawns, exits, reattaches, output, input atomic.Int64
}

// keepExited is the time for which clients can still reattach to an ended process.
const keepExited = 15 * time.Minute

// Listen takes over the socket and serves until Close. A file at its path that is not a socket is left alone.
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
	sealDescriptors()
	catchIgnoredSignals()
	if err := s.claim(); err != nil {
		return nil, fmt.Errorf("listen unix: %w", err)
	}
	if cfg.WarmPath {
		s.Go(func() { s.path() })
	}
	s.Accept(s.socket, "process", maxConns, s.converse, nil)
	s.Go(s.sweep)
	return s, nil
}

// claim takes the socket over, from a live server too. A file that is not a socket is rejected as the system does.
func (s *Server) claim() (err error) {
	s.socket, err = serve.Claim(s.cfg.Socket, nil)
	if errors.Is(err, serve.ErrNoSocket) {
		return fmt.Errorf("listen unix %s: bind: %w", s.cfg.Socket, syscall.EADDRINUSE)
	}
	return err
}

// maxConns limits the clients served at once; each may have begun a line of a mebibyte.
const maxConns = 1024

func (s *Server) converse(nc net.Conn) {
	c := newConn(s, nc)
	defer context.AfterFunc(s.Ctx, c.end)()
	s.count.conns.Add(1)
	s.Log.Info("[Server] New connection from: " + nc.RemoteAddr().String())
	c.run()
	s.Log.Info("[Server] Connection closed: " + nc.RemoteAddr().String())
}

// register makes a process the one of its id, and silences and kills the process that had the id. A server that is
// closing registers none: nothing would end it.
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
		old.silence()
		old.signal(syscall.SIGKILL)
		s.Go(func() { // its frames go when it is gone
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

// sweep drops processes that ended long ago.
func (s *Server) sweep() {
	for range pause.Ticks(s.Ctx.Done(), time.Minute) {
		s.mu.Lock()
		var old []*proc
		for id, p := range s.procs {
			p.mu.Lock()
			if !p.running && time.Since(p.ended) > keepExited && len(p.subs) == 0 {
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

// Done is closed when a client has asked the server to stop, or it was closed.
func (s *Server) Done() <-chan struct{} { return s.Open.Done() }

// closeTime bounds Close: a child that cannot be killed does not hold it up.
const closeTime = 3 * time.Second

// Close stops listening, removes the socket if it is still this server's, kills the processes and cuts the clients off.
func (s *Server) Close() error {
	s.mu.Lock()
	closed := s.Ctx.Err() != nil
	s.Cut() // with the lock: no process is registered after this
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
	if !s.cfg.KeepChildren && !s.Wait(closeTime) { // left behind only with a child that SIGKILL does not end
		s.Log.Warn("[Server] some processes did not end")
	}
	for _, p := range procs {
		p.discard()
	}
	return err
}
