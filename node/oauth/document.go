package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Bounds of a client's document.
const (
	maxDocument    = 64 << 10
	maxDocumentURL = 512
	fetchTimeout   = 5 * time.Second
)

// errPrivate rejects a connection to an address that is not public.
var errPrivate = errors.New("its host has an address that is not a public one")

// nonPublicBlocks are address blocks that look like global unicast but reach no public host, or reach private hosts
// through a translator or a tunnel.
var nonPublicBlocks = func(blocks ...string) (all []netip.Prefix) {
	for _, b := range blocks {
		all = append(all, netip.MustParsePrefix(b))
	}
	return all
}("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10")

// isPublic reports whether an address belongs to the public internet.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, block := range nonPublicBlocks {
		if block.Contains(ip) {
			return false
		}
	}
	return true
}

// A fetcher fetches the documents of clients. It checks each address after the name is resolved, so that a name
// cannot lead to this machine or its network. It uses no proxy and follows no redirect.
type fetcher struct{ http *http.Client }

func newFetcher(allowed func(netip.Addr) bool, roots *x509.CertPool) *fetcher {
	dialer := &net.Dialer{Timeout: fetchTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(at.Addr()) {
			return errPrivate
		}
		return nil
	}}
	return &fetcher{&http.Client{Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 16 << 10,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}}
}

// documentURL parses and checks the URL of a document that is used as a client_id. It must have a path, and be
// unambiguous.
func documentURL(id string) (*url.URL, error) {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxDocumentURL || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsRune(id, '#') ||
		u.Path == "" || u.Path == "/" {
		return nil, fmt.Errorf("want an https URL with a path, without a user or a fragment, in %d bytes", maxDocumentURL)
	}
	for _, part := range strings.Split(u.Path, "/") {
		if part == "." || part == ".." {
			return nil, errors.New("its path has . or .. in it")
		}
	}
	return u, nil
}

// fetch returns the client that a document describes.
func (f *fetcher) fetch(ctx context.Context, id string) (c client, err error) {
	u, err := documentURL(id)
	if err != nil {
		return c, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return c, errors.New("it is not a URL")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(req)
	if errors.Is(err, errPrivate) {
		return c, errPrivate
	}
	if err != nil {
		return c, errors.New("its document could not be fetched") // the cause could reveal the node's network
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c, fmt.Errorf("its document was answered with status %d; redirects are not followed", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil || len(b) > maxDocument {
		return c, fmt.Errorf("its document did not come, whole and within %d bytes, in %s", maxDocument, fetchTimeout)
	}
	var document struct {
		client
		ID   string `json:"client_id"`
		Auth string `json:"token_endpoint_auth_method"`
	}
	switch err := json.Unmarshal(b, &document); {
	case err != nil:
		return c, errors.New("its document is not a JSON object with the fields of a client")
	case document.ID != id:
		return c, errors.New("its document names another client_id")
	case document.Auth != "" && document.Auth != "none":
		return c, errors.New("its document wants the client to authenticate: only token_endpoint_auth_method none is supported")
	}
	c, err = document.client.validated()
	c.host = u.Host
	return c, err
}
