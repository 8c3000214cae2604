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

// Limits of the listener. Strangers have not said hello yet. They have a small share of their own, so that they take
// no place of a peer's; each is also closed earlyTimeout after it came.
const (
	maxPeers     = 1024
	maxStrangers = 64
	earlyTimeout = 5 * time.Second
)

// server is the answering side of the peer port.
type server struct {
	t               *Transport
	ln              net.Listener
	peers, unproven int // how many peers and strangers may be connected

	mu        sync.Mutex
	known     map[net.Conn]shown
	strangers []net.Conn // the oldest first
	closed    bool
}

func newServer(t *Transport, ln net.Listener) *server {
	return &server{t: t, ln: accept.Patiently(ln, "peer", t.o.Log), known: map[net.Conn]shown{},
		peers: accept.Share(maxPeers, 8), unproven: accept.Share(maxStrangers, 32)}
}

func (s *server) serve() {
	for {
		raw, err := s.ln.Accept()
		if err != nil {
			return // it is closed
		}
		if !s.add(raw) {
			return
		}
		s.t.tasks.Go(func() {
			defer s.remove(raw)
			if err := raw.SetDeadline(time.Now().Add(earlyTimeout)); err != nil {
				return
			}
			nc := raw
			if s.t.o.ServerTLS != nil {
				if nc = s.handshake(raw); nc == nil {
					return
				}
			}
			in := &Inbound{t: s.t, nc: nc, in: bufio.NewReaderSize(nc, earlyBuffer),
				slots: make(chan struct{}, maxExchanges), admit: func(as shown) bool { return s.admit(raw, as) }}
			in.r = wire.NewReader(in.in, earlyFrame)
			in.run()
		})
	}
}

// add takes a new connection in, and closes the oldest stranger when there are too many: a peer says hello at once,
// so it gets in while others hold connections open without a word.
func (s *server) add(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return false
	}
	if len(s.strangers) >= s.unproven {
		s.strangers[0].Close() // its task ends
		s.strangers = s.strangers[1:]
	}
	s.strangers = append(s.strangers, nc)
	return true
}

// admit makes a stranger that said hello a peer, if there is room for it.
func (s *server) admit(nc net.Conn, as shown) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.strangers, nc)
	if i < 0 || s.closed {
		return false // it was closed meanwhile
	}
	if len(s.known) >= s.peers {
		s.t.o.Log.Warn("peer refused: too many connections", "addr", nc.RemoteAddr(), "most", s.peers)
		return false
	}
	s.strangers = slices.Delete(s.strangers, i, i+1)
	s.known[nc] = as
	return true
}

// hangUp closes the connections of nodes that said a member's id and showed none of these keys.
func (s *server) hangUp(id uint32, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc, as := range s.known {
		if as.other(id, keys) {
			nc.Close()
		}
	}
}

func (s *server) remove(nc net.Conn) {
	s.mu.Lock()
	delete(s.known, nc)
	s.strangers = slices.DeleteFunc(s.strangers, func(c net.Conn) bool { return c == nc })
	s.mu.Unlock()
	nc.Close()
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for nc := range s.known {
		nc.Close()
	}
	for _, nc := range s.strangers {
		nc.Close()
	}
	s.mu.Unlock()
	s.ln.Close()
}
