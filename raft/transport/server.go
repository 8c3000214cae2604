package transport

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// Limits of the listener.
const (
	maxInbound   = 1024             // connections; more are closed unanswered
	earlyTimeout = 10 * time.Second // to say hello
)

// server is the answering side of the peer port.
type server struct {
	t  *Transport
	ln net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func (s *server) serve() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.t.o.Log.Warn("accept", "surface", "peer", "err", err)
			}
			return
		}
		if !s.add(nc) {
			nc.Close()
			continue
		}
		s.t.tasks.Go(func() {
			defer s.remove(nc)
			nc := nc
			if s.t.o.ServerTLS != nil {
				if nc = s.handshake(nc); nc == nil {
					return
				}
			}
			in := &Inbound{t: s.t, nc: nc, in: bufio.NewReaderSize(nc, earlyBuffer), slots: make(chan struct{}, maxExchanges)}
			in.r = wire.NewReader(in.in, earlyFrame)
			in.run()
		})
	}
}

func (s *server) add(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxInbound {
		return false
	}
	s.conns[nc] = struct{}{}
	return true
}

func (s *server) remove(nc net.Conn) {
	s.mu.Lock()
	delete(s.conns, nc)
	s.mu.Unlock()
	nc.Close()
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for nc := range s.conns {
		nc.Close()
	}
	s.mu.Unlock()
	s.ln.Close()
}
