package access

import (
	"net"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// caller is a connection as a port sees it.
type caller struct {
	ip     string
	closed chan struct{}
}

func (c *caller) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 4711} }
func (c *caller) Close() error         { close(c.closed); return nil }

func newCaller(ip string) *caller { return &caller{ip, make(chan struct{})} }

// TestConnectionsOfOneAddress: an address that is not this machine's own gets so many connections, and all addresses
// together so many; each is counted out once. Two addresses of one IPv6 network are one neighbour.
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
		enter("127.0.0.1", false) // it has three quarters of what is left
		enter("192.0.2.3", false) // two of the nine are left, and none of them to one more
		for _, p := range all {
			p.Leave()
		}
		if len(l.bySource) != 0 || l.Open() != 0 || l.known.Used() != 0 || l.strangers.Len() != 0 {
			t.Fatalf("round %d: left behind: %v, %d counted", round, l.bySource, l.Open())
		}
	}
}

// TestStrangersMakeRoom: connections that show no token fill a port. The next client gets the place of the oldest of
// them, and keeps it once it has shown a token; a principal keeps no other out either.
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
	for i := range 20 { // strangers come and come
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
