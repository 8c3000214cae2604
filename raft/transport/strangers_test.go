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

// TestStrangersFillNoLog: clients that reach the peer port without the secret cause only a limited number of log
// lines, whatever they send and however often.
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
		// meet returns when the member has ended the connection and has logged
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
					return // the member has ended the connection
				}
			}
			if err := nc.(*net.TCPConn).CloseWrite(); err == nil {
				_, _ = io.Copy(io.Discard, nc) // the connection may be reset
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
			meet(hello(7))           // disconnects
			meet(hello(7), hello(7)) // sends no proof
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
