package transport

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestStrangersFillNoLog: whoever reaches the peer port and knows no secret, whatever it does there and however often,
// is logged a bounded number of times.
func TestStrangersFillNoLog(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		var mu sync.Mutex
		o := Options{NodeID: 2, Advertise: ln.Addr().String(), Secret: helloSecret,
			Log: slog.New(slog.NewTextHandler(&recordingConn{mu: &mu, to: &log, Conn: discardConn{}}, nil))}
		if secure {
			o.ServerTLS = &tls.Config{MinVersion: tls.VersionTLS13}
		}
		tr := New(o, &peer{id: 2}, ln)
		tr.Serve()
		t.Cleanup(func() { tr.Close(); tr.Wait() })
		// until the member has ended the connection, and so has logged
		meet := func(hellos ...*wire.ClusterHello) {
			t.Helper()
			nc, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			nc.SetDeadline(time.Now().Add(suite.Patience))
			for _, hello := range hellos {
				b, err := wire.AppendPack(nil, wire.OpClusterHello, 0, hello, false)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := nc.Write(b); err != nil {
					return // it has ended it
				}
			}
			if err := nc.(*net.TCPConn).CloseWrite(); err == nil {
				_, _ = io.Copy(io.Discard, nc) // it may be reset
			}
		}
		lines := func() int {
			mu.Lock()
			defer mu.Unlock()
			return strings.Count(log.String(), "\n")
		}
		hello := func(id uint32) *wire.ClusterHello {
			h := &wire.ClusterHello{NodeID: id, ProtocolVersion: wire.Version, Raft: &wire.RaftHello{Nonce: newNonce()}}
			h.SetChecksum()
			return h
		}
		for range 5 {
			damaged := hello(7)
			damaged.ProtocolVersion++
			meet(hello(7))           // leaves
			meet(hello(7), hello(7)) // proves nothing
			meet(damaged)
		}
		if n := lines(); n > 1 {
			t.Errorf("TLS %t: one stranger is logged %d times:\n%s", secure, n, log.String())
		}
		for id := range uint32(maxRejections + 100) {
			meet(hello(100 + id))
		}
		if n := lines(); n > maxRejections {
			t.Errorf("TLS %t: strangers under many ids are logged %d times", secure, n)
		}
	}
}
