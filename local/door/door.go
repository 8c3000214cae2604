// Package door decides which HTTP requests to the dialects of this host are accepted. Every user of the host, and
// every web page in a browser on it, can reach loopback TCP. So a request is accepted only if all three conditions
// hold:
//
//   - Host names this machine, or the address the client has connected to. This stops DNS rebinding: the page of a
//     rebound name sends that name.
//   - No web page sent it, or a page of a listed origin did. Browsers send Origin, Sec-Fetch-Site or Referer;
//     programs send none of them.
//   - The node's own user sent it, or root, or a client with the token. Linux reports the owner of the client's
//     socket. Where it cannot (another machine, another network namespace, another system), only a token counts.
//
// The owner is looked up once, when a connection is accepted. The token is in a file that only the node's user can
// read. A client with the token is accepted, whichever user runs it. The number of untrusted connections is limited,
// so that they exhaust neither the memory nor the file descriptors of the node.
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

// Door is the access policy of one listener. It must not change once Serve runs.
type Door struct {
	Origins []string                 // of the web pages that may send requests; nil: none
	Token   func(bearer string) bool // reports whether a bearer token is valid; nil rejects all
	Hint    string                   // tells rejected clients where the token is

	localhost string // localhost:port if no other user can listen under that name; set by Serve
}

// CheckOrigins rejects values that no browser sends in an Origin header.
func CheckOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || o != u.Scheme+"://"+u.Host || o != strings.ToLower(o) {
			return fmt.Errorf("origin %q: want scheme://host or scheme://host:port in lower case, as in http://localhost:3000", o)
		}
	}
	return nil
}

// Serve serves the connections of a listener until the server is shut down. It looks up the owner of each.
func (d *Door) Serve(s *http.Server, ln net.Listener, log *slog.Logger) error {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, ownerKey{}, c.(*conn).owner)
	}
	serve := func(ln net.Listener) error {
		return s.Serve(&listener{Listener: accept.Patiently(ln, "local http", log), limit: int64(accept.Share(maxUntrusted, 32))})
	}
	var servers sync.WaitGroup
	defer servers.Wait() // the shutdown of the server ends both listeners
	if six := d.claimLocalhost(ln.Addr()); six != nil {
		servers.Go(func() { _ = serve(six) }) // the other listener returns the same error
	}
	return serve(ln)
}

// claimLocalhost makes localhost a name of the listener if the listener is on 127.0.0.1. It returns a listener on the
// same port of ::1. Browsers try ::1 first for localhost, so another user who listened there could serve pages under
// that name.
func (d *Door) claimLocalhost(at net.Addr) net.Listener {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil || host != "127.0.0.1" {
		return nil
	}
	ln6, err := net.Listen("tcp6", net.JoinHostPort("::1", port))
	if err == nil || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) { // or this machine has no ::1
		d.localhost = net.JoinHostPort("localhost", port)
	}
	return ln6
}

// ownerKey is the context key of the owner of a connection.
type ownerKey struct{}

// owner is the user who owns the client's socket.
type owner struct {
	uid   int
	known bool
}

// RejectReason returns why a request is rejected, or "" if it is accepted.
func (d *Door) RejectReason(r *http.Request) string {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if r.Host != "" && !ownhost.Is(r.Host, at) {
		return "Host not allowed: " + r.Host
	}
	if from, ok := d.checkOrigin(r, at); !ok {
		return "Origin not allowed: " + from
	}
	if d.bearer(r) {
		return ""
	}
	if o, _ := r.Context().Value(ownerKey{}).(owner); !o.trusted() { // the zero owner is unknown
		return fmt.Sprintf("Not your node: connect as uid %d, or %s", os.Geteuid(), d.Hint)
	}
	return ""
}

func (o owner) trusted() bool { return o.known && (o.uid == os.Geteuid() || o.uid == 0) }

func (d *Door) bearer(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return d.Token != nil && strings.EqualFold(scheme, "Bearer") && d.Token(strings.TrimSpace(token))
}

// checkOrigin accepts requests from programs, and from pages whose origin is listed or is the listener itself. If it
// rejects a request, from is the value of the header that names the origin.
//
// The listener's own origins are its address, and localhost if only the listener answers to that name. A page under
// another name, or under localhost if another program listens on the port of ::1, may come from another user.
func (d *Door) checkOrigin(r *http.Request, at net.Addr) (from string, ok bool) {
	own := at != nil && r.Host == at.String() || d.localhost != "" && strings.EqualFold(r.Host, d.localhost)
	if origin := r.Header.Get("Origin"); origin != "" {
		return origin, slices.Contains(d.Origins, origin) || own && origin == "http://"+r.Host
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site, site == "none" || own && site == "same-origin"
	}
	referer := r.Header.Get("Referer") // older browsers send it, and newer ones for addresses that they do not consider secure
	u, err := url.Parse(referer)
	return referer, referer == "" ||
		err == nil && (slices.Contains(d.Origins, u.Scheme+"://"+u.Host) || own && u.Scheme+"://"+u.Host == "http://"+r.Host)
}

// ownerOf returns the owner of the client's end of a connection. Only a loopback address can belong to a socket of
// this host.
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
	return lookupOwner(unmap(c), unmap(s))
}

// EqualSecrets compares two secrets in constant time.
func EqualSecrets(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
