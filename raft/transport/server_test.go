package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// starvingListener is the listener of a peer port. While starved is set, it fails as if the process had no
// descriptors left.
type starvingListener struct {
	net.Listener
	starved atomic.Bool
	failed  chan struct{} // holds a value after a failed accept
}

func (s *starvingListener) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err == nil && s.starved.Load() {
		c.Close()
		select {
		case s.failed <- struct{}{}:
		default:
		}
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return c, err
}

// TestThePeerPortOutlivesTheLackOfDescriptors: the peer port continues after a failed accept.
func TestThePeerPortOutlivesTheLackOfDescriptors(t *testing.T) {
	t.Parallel()
	under := make(chan *starvingListener, 1)
	p := startPairOn(t, func(_ context.Context, entry string) string { return entry }, func(ln net.Listener) net.Listener {
		s := &starvingListener{Listener: ln, failed: make(chan struct{}, 1)}
		s.starved.Store(true)
		under <- s
		return s
	})
	s := <-under
	if _, err := p.ask(t.Context(), "starved"); err == nil {
		t.Fatal("it was answered without a descriptor")
	}
	<-s.failed
	s.starved.Store(false)
	if got, err := p.ask(t.Context(), "again"); err != nil || got != "again" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestStrangersTakeNoPeersPlace: the number of connections that send nothing is limited. The oldest is closed first,
// and all are closed soon. A peer can connect at the same time.
func TestStrangersTakeNoPeersPlace(t *testing.T) {
	t.Parallel()
	p := startPair(t, func(_ context.Context, entry string) string { return entry })
	var silent []net.Conn
	for range 4 * maxUnauthenticated {
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		silent = append(silent, nc)
	}
	if got, err := p.ask(t.Context(), "beside them"); err != nil || got != "beside them" {
		t.Errorf("got %q, %v", got, err)
	}
	begun := time.Now()
	for i, nc := range silent {
		nc.SetReadDeadline(begun.Add(suite.Patience))
		if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("stranger %d is still connected: %v", i, err)
		} else if i < 3*maxUnauthenticated && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("stranger %d: %v", i, err)
		}
	}
	if got, err := p.ask(t.Context(), "still"); err != nil || got != "still" || p.dials.Load() != 1 {
		t.Errorf("got %q, %v over connection %d", got, err, p.dials.Load())
	}
}
