package client_test

import (
	"bufio"
	"net"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// peer is a scripted server, for cases that a real server causes only by dying at a certain time.
type peer struct {
	t    *testing.T
	ln   net.Listener
	wait sync.WaitGroup
	// answer gets every frame behind AUTH but pings; false hangs up.
	answer func(p *session, f wire.Frame) bool
	pings  bool        // it gets those, too
	hears  func() bool // nil: always; a connection is accepted all the same
}

type session struct {
	*peer
	nc  net.Conn
	out sync.Mutex
}

// serve runs a peer that also answers the pings that a client sends when an answer is late.
func serve(t *testing.T, answer func(*session, wire.Frame) bool) *peer {
	t.Helper()
	return servePings(t, false, answer)
}

func servePings(t *testing.T, pings bool, answer func(*session, wire.Frame) bool) *peer {
	t.Helper()
	return start(&peer{t: t, answer: answer, pings: pings})
}

// serveAuth runs a peer that accepts a client, and answers no frames while it is set to be deaf.
func serveAuth(t *testing.T, hears func() bool, answer func(*session, wire.Frame) bool) *peer {
	t.Helper()
	return start(&peer{t: t, answer: answer, hears: hears})
}

func start(p *peer) *peer {
	t := p.t
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.ln = ln
	p.wait.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { nc.Close() })
			p.wait.Go(func() { (&session{peer: p, nc: nc}).run() })
		}
	})
	t.Cleanup(p.wait.Wait)
	t.Cleanup(func() { ln.Close() })
	return p
}

func (p *peer) addr() string { return p.ln.Addr().String() }

func (s *session) run() {
	defer s.nc.Close()
	r := wire.NewReader(bufio.NewReader(s.nc), wire.MaxLength)
	for {
		f, err := r.Next()
		if err != nil {
			return
		}
		f.Payload = append([]byte(nil), f.Payload...) // the reader's buffer is used again
		if s.hears != nil && !s.hears() {
			continue
		}
		if f.Op == wire.OpAuth {
			s.send(f, wire.OpAuthOK, &wire.AuthOK{Database: "default", DatabaseID: 1})
			continue
		}
		if f.Op == wire.OpPing && !s.pings {
			s.send(f, wire.OpPong, nil)
			continue
		}
		if !s.answer(s, f) {
			return
		}
	}
}

func (s *session) send(to wire.Frame, op wire.Op, m wire.Message) {
	f := wire.Empty(op, to.Stream)
	if m != nil {
		var err error
		if f, err = wire.Pack(op, to.Stream, m, false); err != nil {
			s.t.Error(err)
			return
		}
	}
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = s.nc.Write(wire.AppendFrame(nil, f)) // a client that left is the client's affair
}

func dial(t *testing.T, peers ...*peer) *client.Client {
	t.Helper()
	return dialWith(t, configOf(peers))
}

// dialEnduring dials with a client that waits for a silent server as long as the test does.
func dialEnduring(t *testing.T, peers ...*peer) *client.Client {
	t.Helper()
	return dialWith(t, client.Enduring(configOf(peers)))
}

func configOf(peers []*peer) client.Config {
	cfg := client.Config{Token: "t", DialTimeout: suite.Patience, Patience: suite.Patience} // a busy machine is no reason to go elsewhere
	for _, p := range peers {
		cfg.Addrs = append(cfg.Addrs, p.addr())
	}
	return cfg
}

func dialWith(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
