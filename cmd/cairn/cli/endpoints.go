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

// An endpoint is a node as a user names it: host:port of its wire port or of its gateway, or the gateway's URL.
type endpoint struct {
	host string // host:port
	url  string // of the gateway, if it is one
	kind kind
}

// kind says which protocol answers at an endpoint.
type kind int

const (
	silent  kind = iota // nothing, in time
	wired               // the wire protocol
	gateway             // HTTP
	secured             // TLS, where plain text was sent
)

// tlsWanted begins what a gateway that speaks TLS answers to plain text. Its other answers are HTTP/1.1.
const tlsWanted = "HTTP/1.0 400"

// askFor bounds how long a command waits to learn what answers at the endpoints. All are asked at once.
const askFor = 2 * time.Second

// Wire returns the wire ports of the nodes that the flags name. It leaves out those that do not answer, unless none
// does.
func (t *Target) Wire(ctx context.Context) ([]string, error) {
	if t.wires != nil {
		return t.wires, nil
	}
	found, err := t.find(ctx)
	if err != nil || t.wires != nil {
		return t.wires, err
	}
	if t.wires = hosts(found, wired); len(t.wires) > 0 {
		return t.wires, nil
	}
	if at := first(found); at != "" {
		if t.wires, err = t.wiresBehind(ctx, at); err != nil || len(t.wires) > 0 {
			return t.wires, err
		}
	}
	return hosts(found, silent), nil
}

// URL returns the gateway of the first node that answers, of those that the flags name, without a slash at the end.
func (t *Target) URL(ctx context.Context) (string, error) {
	if t.gateway != "" {
		return t.gateway, nil
	}
	found, err := t.find(ctx)
	if err != nil || t.gateway != "" {
		return t.gateway, err
	}
	if t.gateway = first(found); t.gateway != "" {
		return t.gateway, nil
	}
	if t.wires = hosts(found, wired); len(t.wires) > 0 {
		var errs []error
		for _, port := range t.wires { // one of them may be gone by now
			if t.gateway, err = t.gatewayBehind(ctx, port); err == nil {
				return t.gateway, nil
			}
			errs = append(errs, err)
		}
		return "", errs[0]
	}
	return found[0].url, nil // the request says why it does not answer
}

// lookHome uses the node of the home directory.
func (t *Target) lookHome() error {
	a, err := t.Running()
	if err != nil {
		return err
	}
	t.TLS, t.CA = t.TLS || a.TLS, cmp.Or(t.CA, a.CA)
	if t.gateway = Scheme(a.TLS) + a.HTTP; t.wires == nil {
		t.wires = []string{a.Wire}
	}
	return nil
}

// find asks every endpoint what it is. Where the home is meant it takes the home's node, and there is none to ask.
func (t *Target) find(ctx context.Context) ([]endpoint, error) {
	if t.inHome() {
		return nil, t.lookHome()
	}
	tc, err := t.Secure()
	if err != nil {
		return nil, err
	}
	found := make([]endpoint, len(t.Endpoints))
	for i, name := range t.Endpoints {
		if found[i], err = parseEndpoint(name, t.TLS || t.CA != ""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() { found[i].kind = found[i].ask(ctx, tc) })
	}
	wg.Wait()
	for _, e := range found { // before a request sends the token to it in plain text
		if e.kind == secured && !slices.ContainsFunc(found, func(e endpoint) bool { return e.kind == wired || e.kind == gateway }) {
			return nil, Hint(fmt.Errorf("connect: %s: this port speaks TLS", e.host), trustAdvice)
		}
	}
	return found, nil
}

// CheckEndpoints returns a usage error for an address that names no node.
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
		e.kind = gateway
	}
	return e, nil
}

// ask finds out which protocol answers. A URL is a gateway's if anything answers. A plain port where TLS was requested
// still has a kind: the call that follows reports the mismatch.
func (e endpoint) ask(ctx context.Context, tc *tls.Config) kind {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.host)
	if err != nil {
		return silent
	}
	defer func() { nc.Close() }()
	if e.kind == gateway {
		return gateway
	}
	if end, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(end) // a connection that cannot have one fails below
	}
	if tc != nil {
		c := tc.Clone()
		c.ServerName, _, _ = net.SplitHostPort(e.host)
		secure := tls.Client(nc, c)
		err := secure.HandshakeContext(ctx)
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
			return e.ask(ctx, nil)
		}
		if err != nil {
			return wired
		}
		nc = secure
	}
	if _, err := fmt.Fprintf(nc, "GET /v1/health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", e.host); err != nil {
		return wired
	}
	answer := bufio.NewReader(nc)
	head, _ := answer.Peek(len(tlsWanted)) // a port that says less is not a gateway
	switch said := string(head); {
	case tc == nil && said == tlsWanted:
		return secured
	case strings.HasPrefix(said, "HTTP/"):
		return gateway
	case tc == nil && wantsTLS(answer):
		return secured
	}
	return wired
}

// wantsTLS reports whether a wire port's answer to plain text is that it speaks TLS.
func wantsTLS(answer io.Reader) bool {
	f, err := wire.NewReader(answer, 64<<10).Next()
	var said wire.Error
	return err == nil && f.Op == wire.OpError && wire.Unpack(f, &said, 64<<10) == nil &&
		errors.Is(&client.Error{Code: said.Code, Message: said.Message, Details: said.Details}, client.ErrSecured)
}

// first is the URL of the first gateway among them; blank for none.
func first(found []endpoint) string {
	for _, e := range found {
		if e.kind == gateway {
			return e.url
		}
	}
	return ""
}

// hosts are the endpoints of a kind.
func hosts(found []endpoint, k kind) (out []string) {
	for _, e := range found {
		if e.kind == k {
			out = append(out, e.host)
		}
	}
	return out
}

// wiresBehind asks a gateway for the wire ports of the members that answer.
func (t *Target) wiresBehind(ctx context.Context, at string) (out []string, err error) {
	if _, err := t.Token(); err != nil {
		return nil, err // without a token a gateway names no port
	}
	var is api.ClusterStatus
	if err := t.GetOnce(ctx, api.Cluster.Method(), at+api.Cluster.Path(), nil, &is); err != nil {
		var me api.MeAnswer // a token that is bound to namespaces learns of this node alone
		if t.GetOnce(ctx, api.Me.Method(), at+api.Me.Path(), nil, &me) != nil {
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

// gatewayBehind asks a wire port for the gateway of its node. The gateway is on the host that the port was reached at:
// the node's own name for it may mean nothing here.
func (t *Target) gatewayBehind(ctx context.Context, port string) (string, error) {
	host, _, err := net.SplitHostPort(port)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
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
		if c.Query(ctx, api.Me.Name, api.Nothing{}, &is) != nil { // as wiresBehind does
			return "", t.advised(err)
		}
	}
	if _, number, err := net.SplitHostPort(is.HTTP); err == nil {
		return Scheme(t.TLS || t.CA != "") + net.JoinHostPort(host, number), nil
	}
	return "", Hint(fmt.Errorf("%s is a wire port, and this verb needs a gateway: the node has none", port),
		"add the address of a gateway to --endpoints")
}
