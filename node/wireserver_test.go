package node

import (
	"context"
	"net"
	"testing"
)

// Loopback does not count: an address that is not this machine's own gets so many connections, and each is counted out
// once.
func TestConnectionsOfOneAddress(t *testing.T) {
	w := newWireServer(&Service{cfg: Config{MaxConns: 10, MaxConnsPerIP: 2}})
	from := func(ip string) *session {
		ss := &session{w: w, ip: ip, nc: pipeEnd()}
		ss.ctx, ss.cut = context.WithCancel(t.Context())
		return ss
	}
	for round := range 3 {
		a, b := from("192.0.2.1"), from("192.0.2.1")
		if !w.add(a) || !w.add(b) {
			t.Fatalf("round %d: refused below the limit", round)
		}
		if w.add(from("192.0.2.1")) {
			t.Fatalf("round %d: a third connection was let in", round)
		}
		other := from("192.0.2.2")
		if !w.add(other) {
			t.Fatalf("round %d: another address pays for the first", round)
		}
		var local []*session
		for range 5 {
			s := from("")
			if !w.add(s) {
				t.Fatalf("round %d: loopback was counted", round)
			}
			local = append(local, s)
		}
		for _, s := range append(local, a, b, other) {
			w.remove(s)
		}
		if len(w.perIP) != 0 || len(w.sessions) != 0 || w.s.Connections() != 0 {
			t.Fatalf("round %d: left behind: %v, %d sessions, %d counted", round, w.perIP, len(w.sessions), w.s.Connections())
		}
	}
}

func pipeEnd() net.Conn { c, _ := net.Pipe(); return c }
