package access

import (
	"container/list"
	"net"
	"net/netip"
	"sync"

	"github.com/cairndb/cairn/wire/large"
)

// Conns bounds the open connections of one port: in total, from one address, and of one principal. Loopback addresses
// have no bound of their own. If the port is full, the oldest connection without a valid token is closed for a new
// one.
type Conns struct {
	most, perSource int
	knownShares     *large.Shares // divides the connections among principals

	mu              sync.Mutex
	open            int
	bySource        map[string]int
	unauthenticated list.List // of *Place: connections without a valid token so far, oldest first
}

// NewConns returns a bound of most connections, and of perSource from one address.
func NewConns(most, perSource int) *Conns {
	return &Conns{most: most, perSource: perSource, knownShares: large.NewShares(most), bySource: map[string]int{}}
}

// A Place is one counted connection of a port.
type Place struct {
	conns   *Conns
	source  string // "" for loopback
	end     func() error
	waiting *list.Element // element of unauthenticated; nil once authenticated or closed
	share   func()        // releases the principal's share
	left    bool
}

// Conn is the part of a connection that Conns uses.
type Conn interface {
	RemoteAddr() net.Addr
	Close() error
}

// Enter counts a new connection, or rejects it.
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
		oldest := l.unauthenticated.Front()
		if oldest == nil {
			return nil, false
		}
		last := oldest.Value.(*Place)
		last.leave()
		go last.end() // closing TLS may take a while
	}
	l.open++
	if p.source != "" {
		l.bySource[source]++
	}
	p.waiting = l.unauthenticated.PushBack(p)
	return p, true
}

// Known records that the client has sent a valid token of a principal. From then on its connection is not closed for
// others. It returns false if the principal has used up its share of connections; the caller must then close this
// one.
func (p *Place) Known(principal string) bool {
	l := p.conns
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiting == nil {
		return !p.left
	}
	share, ok := l.knownShares.Try(principal, 1)
	if !ok {
		return false
	}
	l.unauthenticated.Remove(p.waiting)
	p.waiting, p.share = nil, share
	return true
}

// Leave uncounts the connection. It may be called repeatedly.
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
	if p.waiting != nil {
		l.unauthenticated.Remove(p.waiting)
		p.waiting = nil
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

// sourceBits is the length of the IPv6 prefix that identifies a source, because one subscriber has a whole network.
const sourceBits = 64

// sourceOf returns the source that a connection counts against, its IPv4 address or IPv6 network, and whether it is
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
