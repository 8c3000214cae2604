package access

import (
	"net"
	"testing"
)

// TestConnectionsOfOneAddress: an address that is not this machine's own gets so many connections, and all addresses together so
// many; each is counted out once. Two addresses of one IPv6 network are one neighbour.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	l := NewConns(9, 2)
	from := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4711} }
	for round := range 3 {
		var leave []func()
		enter := func(ip string, want bool) {
			t.Helper()
			f, ok := l.Enter(from(ip))
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
		if len(l.bySource) != 0 || l.Open() != 0 {
			t.Fatalf("round %d: left behind: %v, %d counted", round, l.bySource, l.Open())
		}
	}
}
