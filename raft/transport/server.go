package transport

import (
	"bufio"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/accept"
)

// Limits of the listener. A connection is unauthenticated until its hello was accepted. Such connections have their
// own small limit, so that they never use up the peers' share. Each is closed after unauthenticatedTimeout.
const (
	maxPeers               = 1024
	maxUnauthenticated     = 64
	unauthenticatedTimeout = 5 * time.Second
)

// server is the answering side of the peer port.
type server struct {
	t                               *Transport
	ln                              net.Listener
	peerLimit, unauthenticatedLimit int // maximum numbers of open connections of each kind

	mu              sync.Mutex
	known           map[net.Conn]peerIdentity
	unauthenticated []net.Conn // the oldest first
	closed          bool
}

func newServer(t *Transport, ln net.Listener) *server {
	return &server{t: t, ln: accept.Patiently(ln, "peer", t.o.Log), known: map[net.Conn]peerIdentity{},
		peerLimit: accept.Share(maxPeers, 8), unauthenticatedLimit: accept.Share(maxUnauthenticated, 32)}
}

func (s *server) serve() {
	for {
		raw, err := s.ln.Accept()
		if err != nil {
			return // the listener is closed
		}
		if !s.add(raw) {
			return
		}
		s.t.tasks.Go(func() {
			defer s.remove(raw)
			if err := raw.SetDeadline(time.Now().Add(unauthenticatedTimeout)); err != nil {
				return
			}
			nc := raw
			if s.t.o.ServerTLS != nil {
				if nc = s.handshake(raw); nc == nil {
					return
				}
			}
			in := &Inbound{t: s.t, nc: nc, in: bufio.NewReaderSize(nc, helloBuffer),
				slots: make(chan struct{}, maxExchanges), admit: func(as peerIdentity) bool { return s.admit(raw, as) }}
			in.r = wire.NewReader(in.in, maxHello)
			in.run()
		})
	}
}

// add registers a new connection, and closes the oldest unauthenticated one if there are too many. A peer says hello
// at once, so it gets in even while others hold silent connections open.
func (s *server) add(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return false
	}
	if len(s.unauthenticated) >= s.unauthenticatedLimit {
		s.unauthenticated[0].Close() // its task ends
		s.unauthenticated = s.unauthenticated[1:]
	}
	s.unauthenticated = append(s.unauthenticated, nc)
	return true
}

// admit counts an authenticated connection as a peer's, if the limit allows it.
func (s *server) admit(nc net.Conn, as peerIdentity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.unauthenticated, nc)
	if i < 0 || s.closed {
		return false // the connection was closed meanwhile
	}
	if len(s.known) >= s.peerLimit {
		s.t.o.Log.Warn("peer refused: too many connections", "addr", nc.RemoteAddr(), "most", s.peerLimit)
		return false
	}
	s.unauthenticated = slices.Delete(s.unauthenticated, i, i+1)
	s.known[nc] = as
	return true
}

// closeImpostors closes the connections of nodes that showed a member's id without one of these keys.
func (s *server) closeImpostors(id uint32, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc, as := range s.known {
		if as.isImpostor(id, keys) {
			nc.Close()
		}
	}
}

func (s *server) remove(nc net.Conn) {
	s.mu.Lock()
	delete(s.known, nc)
	s.unauthenticated = slices.DeleteFunc(s.unauthenticated, func(c net.Conn) bool { return c == nc })
	s.mu.Unlock()
	nc.Close()
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for nc := range s.known {
		nc.Close()
	}
	for _, nc := range s.unauthenticated {
		nc.Close()
	}
	s.mu.Unlock()
	s.ln.Close()
}
