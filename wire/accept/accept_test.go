package accept

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// starved is a listener whose next attempts to accept fail for lack of descriptors; negative: all attempts.
type starved struct {
	net.Listener
	attempts int
}

func (s *starved) Accept() (net.Conn, error) {
	if s.attempts != 0 {
		s.attempts--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return s.Listener.Accept()
}

func listen(t *testing.T, attempts int) (net.Listener, *strings.Builder) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said := new(strings.Builder)
	p := Patiently(&starved{ln, attempts}, "wire", slog.New(slog.NewTextHandler(said, nil)))
	t.Cleanup(func() { p.Close() })
	return p, said
}

// TestAcceptOutlivesTheLackOfDescriptors: a listener that failed eight times serves the client that waited, and says
// twice what happened.
func TestAcceptOutlivesTheLackOfDescriptors(t *testing.T) {
	t.Parallel()
	ln, said := listen(t, 8)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "retrying") ||
		!strings.Contains(lines[1], "again") {
		t.Errorf("logged %q", lines)
	}
}

// TestACloseEndsTheWait: Close makes Accept return at once, even without descriptors.
func TestACloseEndsTheWait(t *testing.T) {
	t.Parallel()
	ln, _ := listen(t, -1)
	ended := make(chan error, 1)
	go func() {
		_, err := ln.Accept()
		ended <- err
	}()
	ln.Close()
	if err := suite.Receive(t, "the end of Accept", ended); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// TestAShareFitsTheLimit: whatever the limit is, the shares of one node leave room for files and peers.
func TestAShareFitsTheLimit(t *testing.T) {
	t.Parallel()
	have := descriptors()
	if have == 0 {
		t.Skip("this system has no limit of descriptors")
	}
	if got := Share(have, 4); got != max(have/4, 8) {
		t.Errorf("a quarter of %d is %d", have, got)
	}
	if got := Share(10, 1); got > 10 {
		t.Errorf("at most 10: %d", got)
	}
}
