package access

import (
	"net"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// caller is a connection from an address.
type caller struct {
	ip     string
	closed chan struct{}
}

func (c *caller) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 4711} }
func (c *caller) Close() error         { close(c.closed); return nil }

func newCaller(ip string) *caller { return &caller{ip, make(chan struct{})} }

// TestConnectionsOfOneAddress checks the bounds of connections from one address, which do not apply to this machine,
// and in total. Each connection is uncounted once. Two addresses of one IPv6 network are one source.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	l := NewConns(9, 2)
	for round := range 3 {
		var all []*Place
		enter := func(ip string, want bool) {
			t.Helper()
			p, ok := l.Enter(newCaller(ip))
			if ok && !p.Known(ip) {
				p.Leave()
				ok = false
			}
			if ok != want {
				t.Fatalf("round %d: %s let in: %t, want %t", round, ip, ok, want)
			}
			if ok {
				all = append(all, p, p)
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
		enter("127.0.0.1", false) // a principal may have three quarters of the remaining connections
		enter("192.0.2.3", false) // two of the nine are left, and the principal gets neither
		for _, p := range all {
			p.Leave()
		}
		if len(l.bySource) != 0 || l.Open() != 0 || l.knownShares.Used() != 0 || l.unauthenticated.Len() != 0 {
			t.Fatalf("round %d: left behind: %v, %d counted", round, l.bySource, l.Open())
		}
	}
}

// TestStrangersMakeRoom fills a port with connections without a token. The next client replaces the oldest of them,
// and keeps its connection once it has sent a token. A principal cannot keep others out either.
func TestStrangersMakeRoom(t *testing.T) {
	t.Parallel()
	l := NewConns(8, 100)
	enter := func() (*caller, *Place) {
		t.Helper()
		c := newCaller("127.0.0.1")
		p, ok := l.Enter(c)
		if !ok {
			t.Fatal("refused")
		}
		return c, p
	}
	var strangers []*caller
	for range 8 {
		c, _ := enter()
		strangers = append(strangers, c)
	}
	operator, place := enter()
	suite.Receive(t, "the end of the oldest stranger", strangers[0].closed)
	if !place.Known("operator") {
		t.Fatal("the operator has no place")
	}
	for i := range 20 { // more connections without a token
		c, _ := enter()
		strangers = append(strangers, c)
		suite.Receive(t, "the end of the oldest stranger", strangers[i+1].closed)
	}
	select {
	case <-operator.closed:
		t.Fatal("the operator made room")
	default:
	}
	tenants := 0
	for range 8 {
		_, p := enter()
		if p.Known("tenant") {
			tenants++
			continue
		}
		p.Leave()
	}
	if tenants == 0 || tenants > 6 {
		t.Errorf("one tenant has %d of 8 places", tenants)
	}
	if _, p := enter(); !p.Known("other") {
		t.Error("a tenant keeps another out")
	}
}
