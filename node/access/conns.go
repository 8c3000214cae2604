package access

import (
	"container/list"
	"net"
	"net/netip"
	"sync"

	"github.com/cairndb/cairn/wire/large"
)

// Conns bounds the open connections of one port: all of them, those from one address, and those of one principal.
// Loopback has no bound of its own. Where all places are taken, the oldest stranger makes room for the next client.
type Conns struct {
	most, perSource int
	known           *large.Shares // of the places, among those who have shown a right token

	mu        sync.Mutex
	open      int
	bySource  map[string]int
	strangers list.List // of *Place: those who have shown no right token, the oldest first
}

// NewConns lets in so many connections, and so many of them from one address.
func NewConns(most, perSource int) *Conns {
	return &Conns{most: most, perSource: perSource, known: large.NewShares(most), bySource: map[string]int{}}
}

// Place counts one connection among those of its port.
type Place struct {
	conns    *Conns
	source   string // blank for loopback
	end      func() error
	stranger *list.Element // nil once it is known, or has left
	share    func()        // gives back its principal's share
	left     bool
}

// Conn is a connection as Conns sees it: where it comes from, and how to end it.
type Conn interface {
	RemoteAddr() net.Addr
	Close() error
}

// Enter counts a connection in, or rejects it.
func (l *Conns) Enter(c Conn) (p *Place, ok bool) {
	p = &Place{conns: l, end: c.Close}
	source, loopback := sourceOf(c.RemoteAddr().String())
	if !loopback {
		p.source = source
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.source != "" && l.bySource[source] >= l.perSource {
		return nil, false
	}
	if l.open >= l.most {
		oldest := l.strangers.Front()
		if oldest == nil {
			return nil, false
		}
		last := oldest.Value.(*Place)
		last.leave()
		go last.end() // TLS says goodbye, which may take a while
	}
	l.open++
	if p.source != "" {
		l.bySource[source]++
	}
	p.stranger = l.strangers.PushBack(p)
	return p, true
}

// Known says that the client has shown the token of a principal: from here on its connection makes room for no other.
// It returns false when the principal has its share of the connections; this one must be closed then.
func (p *Place) Known(principal string) bool {
	l := p.conns
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.stranger == nil {
		return !p.left
	}
	share, ok := l.known.Try(principal, 1)
	if !ok {
		return false
	}
	l.strangers.Remove(p.stranger)
	p.stranger, p.share = nil, share
	return true
}

// Leave counts the connection out. It may be called any number of times.
func (p *Place) Leave() {
	p.conns.mu.Lock()
	defer p.conns.mu.Unlock()
	p.leave()
}

func (p *Place) leave() {
	l := p.conns
	if p.left {
		return
	}
	p.left = true
	l.open--
	if p.stranger != nil {
		l.strangers.Remove(p.stranger)
		p.stranger = nil
	}
	if p.share != nil {
		p.share()
	}
	if p.source == "" {
		return
	}
	if l.bySource[p.source]--; l.bySource[p.source] == 0 {
		delete(l.bySource, p.source)
	}
}

// Open returns the number of open connections.
func (l *Conns) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// sourceBits is the length of the IPv6 prefix that tells two neighbours apart: each has its own network.
const sourceBits = 64

// sourceOf returns the source that a connection counts against, its IPv4 address or its IPv6 network, and whether it is
// loopback. Any other text, such as the name of a test's pipe, is its own source.
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
