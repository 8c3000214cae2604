package access

import (
	"net"
	"net/netip"
	"sync"
)

// Conns bounds the open connections of one port: all of them, and those from one address. Loopback has no bound of its own.
type Conns struct {
	most, perSource int

	mu       sync.Mutex
	open     int
	bySource map[string]int
}

// NewConns lets in so many connections, and so many of them from one address.
func NewConns(most, perSource int) *Conns {
	return &Conns{most: most, perSource: perSource, bySource: map[string]int{}}
}

// Enter counts a connection in, or refuses it. What it returns counts it out again.
func (l *Conns) Enter(from net.Addr) (leave func(), ok bool) {
	source, loopback := sourceOf(from.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most || !loopback && l.bySource[source] >= l.perSource {
		return nil, false
	}
	l.open++
	if !loopback {
		l.bySource[source]++
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if loopback {
			return
		}
		if l.bySource[source]--; l.bySource[source] == 0 {
			delete(l.bySource, source)
		}
	}), true
}

// Open is how many connections are open.
func (l *Conns) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// sourceBits are what tells two neighbours of IPv6 apart: each is given a network of its own.
const sourceBits = 64

// sourceOf is where a connection comes from, as far as one neighbour can be told from another: an address of IPv4, a network of
// IPv6. Another text, such as the name of a test's pipe, is a source of its own.
func sourceOf(addr string) (source string, loopback bool) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr, false
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(sourceBits); err == nil {
			return network.String(), ip.IsLoopback()
		}
	}
	return ip.String(), ip.IsLoopback()
}
