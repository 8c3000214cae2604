package main

import (
	"bufio"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/debug"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestEveryListenerOutlivesTheLimitOfDescriptors lowers a node's limit of descriptors so that it can open none,
// connects to each listener, and checks that each listener serves again once the limit is raised. The full suite
// allows one second for that.
func TestEveryListenerOutlivesTheLimitOfDescriptors(t *testing.T) {
	t.Parallel()
	p := cairntest.StartDevIn(t, filepath.Join(shortDir(t), "h"))
	bare := func(url string) string { return strings.TrimPrefix(url, "http://") }
	siftSocket := siftOpenAt(t, p.Line.Home, shortDir(t))
	listeners := []struct{ name, network, addr, ask string }{
		{"wire", "tcp", p.Line.Wire, "\x00\x00\x00\x06\x01\xf1\x00\x00\x00\x01"},
		{"gateway", "tcp", bare(p.Line.HTTP), "GET /v1/health HTTP/1.0\r\n\r\n"},
		{"stringd", "tcp", bare(p.Line.String), "GET /health HTTP/1.0\r\n\r\n"},
		{"covenant", "unix", p.Line.Covenant, "\x00\x00\x00\x02{}"},
		{"siftcoder", "unix", siftSocket, "\x00\x00\x00\x02{}"},
		{"process", "unix", p.Line.Process, "{}\n"},
		{"debug", "unix", filepath.Join(p.Line.Home, "run", debug.Socket), "GET /debug/pprof/ HTTP/1.0\r\n\r\n"},
	}
	pid := p.Cmd.Process.Pid
	var full unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &full); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: full.Max}, nil); err != nil {
		t.Fatal(err)
	}
	waiting := make([]net.Conn, len(listeners))
	for i, l := range listeners {
		if l.addr == "" {
			t.Fatalf("%s: the node does not say where it is", l.name)
		}
		c, err := net.Dial(l.network, l.addr) // the kernel accepts the connection before the node does
		if err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		defer c.Close()
		if _, err := c.Write([]byte(l.ask)); err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if n, err := c.Read(make([]byte, 1)); n > 0 {
			t.Errorf("%s: served without a descriptor: %d, %v", l.name, n, err) // a reset is no answer
		}
		waiting[i] = c
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &full, nil); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i, l := range listeners {
		waiting[i].SetReadDeadline(begun.Add(suite.Patience))
		if _, err := bufio.NewReader(waiting[i]).ReadByte(); isTimeout(err) {
			t.Errorf("%s: not served again", l.name) // any other end of the connection is an answer of the node
		}
		if took := time.Since(begun); took > time.Second && suite.Count(0, 1, 1) > 0 && !testing.Short() {
			t.Errorf("%s: served again after %s", l.name, took)
		}
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
