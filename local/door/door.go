// Package door decides which requests come in where a dialect speaks HTTP on this host. Loopback TCP is open to every
// user of the host, and to every web page that a browser on it shows, so a request is let in when all three hold:
//
//   - Host names this machine, or the address the client has connected to. A page that has its name rebound to
//     this host sends its own name.
//   - No page sent it, or a page of a listed origin did. Browsers say so in Origin, Sec-Fetch-Site or Referer; programs
//     send none of them.
//   - The node's own user sent it, or root, or a client with a token. Linux tells who owns the client's socket; where
//     it cannot (a client on another machine or in another network namespace, another system) only a token counts.
//
// The owner is looked up once for a connection, when it comes. A token lets any client in: it lies in a file that only
// the node's user can read. Connections of clients that need one are few at a time, so that they fill neither the
// memory nor the table of descriptors of a node.
package door

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cairndb/cairn/wire/accept"
	"github.com/cairndb/cairn/wire/ownhost"
)

// Door is the policy of one listener. It is not changed once the listener serves.
type Door struct {
	Origins []string                 // of pages that may ask; none
	Token   func(bearer string) bool // reports whether a bearer token lets its sender in; nil: no token does
	Hint    string                   // where that token is, for the message to rejected clients

	localhost string // localhost and the port, where nobody else can listen under that name; set by Serve
}

// CheckOrigins rejects texts that no browser sends as the origin of a page.
func CheckOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || o != u.Scheme+"://"+u.Host || o != strings.ToLower(o) {
			return fmt.Errorf("origin %q: want scheme://host or scheme://host:port in lower case, as in http://localhost:3000", o)
		}
	}
	return nil
}

// Serve accepts a server's connections from a listener, each with its owner looked up, until the server is shut down.
func (d *Door) Serve(s *http.Server, ln net.Listener, log *slog.Logger) error {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, visitor{}, c.(*conn).owner)
	}
	serve := func(ln net.Listener) error {
		return s.Serve(&listener{Listener: accept.Patiently(ln, "local http", log), most: int64(accept.Share(maxStrangers, 32))})
	}
	var both sync.WaitGroup
	defer both.Wait() // the server ends both
	if six := d.takeLocalhost(ln.Addr()); six != nil {
		both.Go(func() { _ = serve(six) }) // as the other ends
	}
	return serve(ln)
}

// takeLocalhost makes localhost the listener's own name, if the listener is on 127.0.0.1. It returns a listener on the
// same port of ::1, which browsers try first for localhost: there another user of this host could serve pages under the
// name.
func (d *Door) takeLocalhost(at net.Addr) net.Listener {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil || host != "127.0.0.1" {
		return nil
	}
	six, err := net.Listen("tcp6", net.JoinHostPort("::1", port))
	if err == nil || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) { // or this machine has no ::1
		d.localhost = net.JoinHostPort("localhost", port)
	}
	return six
}

// visitor is the key of a connection's owner in the context of its requests.
type visitor struct{}

// owner is the user that a client's socket belongs to.
type owner struct {
	uid   int
	known bool
}

// Refuses says why a request may not come in; it is empty when it may.
func (d *Door) Refuses(r *http.Request) string {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if r.Host != "" && !ownhost.Is(r.Host, at) {
		return "Host not allowed: " + r.Host
	}
	if from, ok := d.page(r, at); !ok {
		return "Origin not allowed: " + from
	}
	if d.bearer(r) {
		return ""
	}
	if o, _ := r.Context().Value(visitor{}).(owner); !o.trusted() { // the zero owner is unknown
		return fmt.Sprintf("Not your node: connect as uid %d, or %s", os.Geteuid(), d.Hint)
	}
	return ""
}

func (o owner) trusted() bool { return o.known && (o.uid == os.Geteuid() || o.uid == 0) }

func (d *Door) bearer(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return d.Token != nil && strings.EqualFold(scheme, "Bearer") && d.Token(strings.TrimSpace(token))
}

// page reports whether a request comes from a program, or from a page that may ask; else from is the header that
// shows its origin.
//
// A page of the listener's own origin may: that of its address, or of localhost where the listener alone answers to
// it. Of another name, or where another program listens on the port of ::1, another user of the host may serve the
// page.
func (d *Door) page(r *http.Request, at net.Addr) (from string, ok bool) {
	own := at != nil && r.Host == at.String() || d.localhost != "" && strings.EqualFold(r.Host, d.localhost)
	if origin := r.Header.Get("Origin"); origin != "" {
		return origin, slices.Contains(d.Origins, origin) || own && origin == "http://"+r.Host
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site, site == "none" || own && site == "same-origin"
	}
	referer := r.Header.Get("Referer") // what an older browser says, or one that takes the address for no safe one
	u, err := url.Parse(referer)
	return referer, referer == "" ||
		err == nil && (slices.Contains(d.Origins, u.Scheme+"://"+u.Host) || own && u.Scheme+"://"+u.Host == "http://"+r.Host)
}

// ownerOf finds the owner of the client's end of a connection. Only an end on loopback can be one of this host's
// sockets.
func ownerOf(client, server net.Addr) owner {
	c, ok := client.(*net.TCPAddr)
	s, ok2 := server.(*net.TCPAddr)
	if !ok || !ok2 || !c.IP.IsLoopback() {
		return owner{}
	}
	unmap := func(a *net.TCPAddr) netip.AddrPort {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
	}
	return lookUp(unmap(c), unmap(s))
}

// Same compares two secrets in a time that depends on neither.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
