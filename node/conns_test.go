package node

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// TestConnectionsOfOneAddress: an address that is not this machine's own gets so many connections, and all addresses together so
// many; each is counted out once. Two addresses of one IPv6 network are one neighbour.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	l := newConnLimit(Config{MaxConns: 9, MaxConnsPerIP: 2})
	from := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4711} }
	for round := range 3 {
		var leave []func()
		enter := func(ip string, want bool) {
			t.Helper()
			f, ok := l.enter(from(ip))
			if ok != want {
				t.Fatalf("round %d: %s let in: %t, want %t", round, ip, ok, want)
			}
			if ok {
				leave = append(leave, f, f)
			}
		}
		for _, pair := range [][2]string{{"192.0.2.1", "192.0.2.1"}, {"2001:db8::1", "2001:db8::2"}} {
			enter(pair[0], true)
			enter(pair[1], true)
			enter(pair[0], false)
		}
		enter("192.0.2.2", true)
		enter("127.0.0.1", true)
		enter("127.0.0.1", true)
		enter("::1", true)
		enter("127.0.0.1", true)
		enter("127.0.0.1", false) // one over all
		for _, f := range leave {
			f()
		}
		if len(l.bySource) != 0 || l.count() != 0 {
			t.Fatalf("round %d: left behind: %v, %d counted", round, l.bySource, l.count())
		}
	}
}

// TestGatewayConnectionsAreBounded: one connection more than the gateway may have is closed, and its place is there again when
// another has ended.
func TestGatewayConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 5
	n, err := Open(t.Context(), Config{Home: t.TempDir(), Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0", NoSync: true, MaxConns: most})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var open []net.Conn
	for range most {
		nc, err := net.Dial("tcp", n.Addrs().HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		open = append(open, nc)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	until("the node never saw its connections", func() bool { return n.gateway.limit.count() == most })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	alive := func() bool {
		resp, err := client.Get("http://" + n.Addrs().HTTP + "/v1/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if alive() {
		t.Errorf("connection %d was served", most+1)
	}
	open[0].Close()
	until("no place after a connection has ended", alive)
}
