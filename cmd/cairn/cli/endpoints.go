package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// An endpoint is an address of a node that a user typed: host:port of its wire port or its gateway, or the gateway's
// URL.
type endpoint struct {
	host     string // host:port
	url      string // of the gateway, if the endpoint is one
	protocol protocol
}

// protocol is the protocol that an endpoint speaks.
type protocol int

const (
	noAnswer     protocol = iota // no answer in time
	wireProtocol                 // the wire protocol
	httpGateway                  // HTTP
	tlsOnly                      // TLS, where plain text was sent
)

// tlsRequiredReply is the prefix of a TLS gateway's answer to plain text. All its other answers are HTTP/1.1.
const tlsRequiredReply = "HTTP/1.0 400"

// probeTimeout bounds how long a command probes the endpoints. It probes all of them at once.
const probeTimeout = 2 * time.Second

// Wire returns the wire addresses of the nodes in the flags. It omits nodes that do not answer, unless none answers.
func (t *Target) Wire(ctx context.Context) ([]string, error) {
	if t.wireAddrs != nil {
		return t.wireAddrs, nil
	}
	found, err := t.probeEndpoints(ctx)
	if err != nil || t.wireAddrs != nil {
		return t.wireAddrs, err
	}
	if t.wireAddrs = hostsSpeaking(found, wireProtocol); len(t.wireAddrs) > 0 {
		return t.wireAddrs, nil
	}
	if at := firstGateway(found); at != "" {
		if t.wireAddrs, err = t.wireAddrsFrom(ctx, at); err != nil || len(t.wireAddrs) > 0 {
			return t.wireAddrs, err
		}
	}
	return hostsSpeaking(found, noAnswer), nil
}

// URL returns the gateway URL of the first node in the flags that answers, without a trailing slash.
func (t *Target) URL(ctx context.Context) (string, error) {
	if t.gatewayURL != "" {
		return t.gatewayURL, nil
	}
	found, err := t.probeEndpoints(ctx)
	if err != nil || t.gatewayURL != "" {
		return t.gatewayURL, err
	}
	if t.gatewayURL = firstGateway(found); t.gatewayURL != "" {
		return t.gatewayURL, nil
	}
	if t.wireAddrs = hostsSpeaking(found, wireProtocol); len(t.wireAddrs) > 0 {
		var errs []error
		for _, port := range t.wireAddrs { // a node may have stopped since the probe
			if t.gatewayURL, err = t.gatewayURLFrom(ctx, port); err == nil {
				return t.gatewayURL, nil
			}
			errs = append(errs, err)
		}
		return "", errs[0]
	}
	return found[0].url, nil // the request then reports why the node does not answer
}

// useHomeNode sets the addresses to those of the node in the home directory.
func (t *Target) useHomeNode() error {
	a, err := t.HomeAddresses()
	if err != nil {
		return err
	}
	t.TLS, t.CA = t.TLS || a.TLS, cmp.Or(t.CA, a.CA)
	if t.gatewayURL = Scheme(a.TLS) + a.HTTP; t.wireAddrs == nil {
		t.wireAddrs = []string{a.Wire}
	}
	return nil
}

// probeEndpoints probes all endpoints. If the target is the home's node, it sets that node's addresses and returns
// none.
func (t *Target) probeEndpoints(ctx context.Context) ([]endpoint, error) {
	if t.usesHome() {
		return nil, t.useHomeNode()
	}
	tc, err := t.TLSConfig()
	if err != nil {
		return nil, err
	}
	found := make([]endpoint, len(t.Endpoints))
	for i, name := range t.Endpoints {
		if found[i], err = parseEndpoint(name, t.TLS || t.CA != ""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() { found[i].protocol = found[i].probe(ctx, tc) })
	}
	wg.Wait()
	if t.silent = hostsSpeaking(found, noAnswer); len(t.silent) < len(found) {
		t.silent = nil
	}
	for _, e := range found { // fail now: a request would send the token in plain text
		if e.protocol == tlsOnly && !slices.ContainsFunc(found, func(e endpoint) bool { return e.protocol == wireProtocol || e.protocol == httpGateway }) {
			return nil, Hint(fmt.Errorf("connect: %s: this port speaks TLS", e.host), trustAdvice)
		}
	}
	return found, nil
}

// CheckEndpoints returns a usage error for a malformed address.
func CheckEndpoints(names []string) error {
	for _, name := range names {
		if _, err := parseEndpoint(name, false); err != nil {
			return err
		}
	}
	return nil
}

func parseEndpoint(name string, secure bool) (endpoint, error) {
	at, isURL := strings.TrimRight(name, "/"), strings.Contains(name, "://")
	if !isURL {
		at = Scheme(secure) + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !isURL && u.Port() == "" {
		return endpoint{}, Usagef("--endpoints %q is neither host:port nor http://host:port", name)
	}
	e := endpoint{host: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)), url: at}
	if isURL {
		e.protocol = httpGateway
	}
	return e, nil
}

// probe finds out which protocol the endpoint speaks. A URL counts as a gateway if it accepts a connection. If TLS
// was requested but the port is plain text, probe still returns its protocol: the following request reports the
// mismatch.
func (e endpoint) probe(ctx context.Context, tc *tls.Config) protocol {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.host)
	if err != nil {
		return noAnswer
	}
	defer func() { nc.Close() }()
	if e.protocol == httpGateway {
		return httpGateway
	}
	if end, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(end) // if this fails, the read below fails too
	}
	if tc != nil {
		c := tc.Clone()
		c.ServerName, _, _ = net.SplitHostPort(e.host)
		secure := tls.Client(nc, c)
		err := secure.HandshakeContext(ctx)
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
			return e.probe(ctx, nil)
		}
		if err != nil {
			return wireProtocol
		}
		nc = secure
	}
	if _, err := fmt.Fprintf(nc, "GET /v1/health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", e.host); err != nil {
		return wireProtocol
	}
	answer := bufio.NewReader(nc)
	head, _ := answer.Peek(len(tlsRequiredReply)) // a shorter answer is not HTTP
	switch said := string(head); {
	case tc == nil && said == tlsRequiredReply:
		return tlsOnly
	case strings.HasPrefix(said, "HTTP/"):
		return httpGateway
	case tc == nil && wantsTLS(answer):
		return tlsOnly
	}
	return wireProtocol
}

// wantsTLS reports whether a wire port rejected plain text because it requires TLS.
func wantsTLS(answer io.Reader) bool {
	f, err := wire.NewReader(answer, 64<<10).Next()
	var said wire.Error
	return err == nil && f.Op == wire.OpError && wire.Unpack(f, &said, 64<<10) == nil &&
		errors.Is(&client.Error{Code: said.Code, Message: said.Message, Details: said.Details}, client.ErrSecured)
}

// firstGateway returns the URL of the first gateway; blank if there is none.
func firstGateway(found []endpoint) string {
	for _, e := range found {
		if e.protocol == httpGateway {
			return e.url
		}
	}
	return ""
}

// hostsSpeaking returns the host:port of the endpoints that speak a protocol.
func hostsSpeaking(found []endpoint, k protocol) (out []string) {
	for _, e := range found {
		if e.protocol == k {
			out = append(out, e.host)
		}
	}
	return out
}

// wireAddrsFrom requests the wire addresses of the reachable members from a gateway.
func (t *Target) wireAddrsFrom(ctx context.Context, at string) (out []string, err error) {
	if _, err := t.Token(); err != nil {
		return nil, err // a gateway reports wire addresses only to clients with a token
	}
	var is api.ClusterStatus
	if err := t.GetAt(ctx, api.Cluster.Method(), at+api.Cluster.Path(), nil, &is); err != nil {
		var me api.MeAnswer // a token bound to namespaces may read only this node's address
		if t.GetAt(ctx, api.Me.Method(), at+api.Me.Path(), nil, &me) != nil {
			return nil, err
		}
		return []string{me.Wire}, nil
	}
	out = append(out, is.Wire)
	for _, p := range is.Peers {
		if p.Reachable && p.Wire != "" {
			out = append(out, p.Wire)
		}
	}
	return out, nil
}

// gatewayURLFrom requests the gateway's port from a wire port. The URL has the host under which the wire port was
// reached, because the node's own host name may not resolve here.
func (t *Target) gatewayURLFrom(ctx context.Context, port string) (string, error) {
	host, _, err := net.SplitHostPort(port)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := t.dial(ctx, []string{port})
	if err != nil {
		return "", err
	}
	defer c.Close()
	var is struct {
		HTTP string `json:"http"`
	}
	if err := c.Query(ctx, api.Cluster.Name, api.Nothing{}, &is); err != nil {
		if c.Query(ctx, api.Me.Name, api.Nothing{}, &is) != nil { // as wireAddrsFrom does
			return "", t.withAdvice(err)
		}
	}
	if _, number, err := net.SplitHostPort(is.HTTP); err == nil {
		return Scheme(t.TLS || t.CA != "") + net.JoinHostPort(host, number), nil
	}
	return "", Hint(fmt.Errorf("%s is a wire port, and this verb needs a gateway: the node has none", port),
		"add the address of a gateway to --endpoints")
}
