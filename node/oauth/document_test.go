package oauth

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// published starts a server of documents, and a fetcher that may connect to it although it is on this machine.
func published(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *fetcher) {
	t.Helper()
	srv := httptest.NewTLSServer(answer)
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv, newFetcher(func(netip.Addr) bool { return true }, roots)
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	const good = `{"client_id":%q,"client_name":"Agent","redirect_uris":["http://localhost/cb"],"token_endpoint_auth_method":"none","other":[1]}`
	wait := make(chan struct{})
	var srv *httptest.Server
	srv, f := published(t, func(w http.ResponseWriter, r *http.Request) {
		id := srv.URL + r.URL.Path
		switch strings.TrimPrefix(r.URL.Path, "/") {
		case "good":
			fmt.Fprintf(w, good, id)
		case "other":
			fmt.Fprintf(w, good, id+"x")
		case "secret":
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["https://a.test/"],"token_endpoint_auth_method":"private_key_jwt"}`, id)
		case "plain":
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["http://a.test/"]}`, id)
		case "moved":
			http.Redirect(w, r, "/good", http.StatusFound)
		case "large":
			fmt.Fprintf(w, good+strings.Repeat(" ", maxDocument), id)
		case "text":
			fmt.Fprint(w, "no JSON")
		case "slow":
			<-wait
		default:
			http.NotFound(w, r)
		}
	})
	defer close(wait)
	c, err := f.fetch(t.Context(), srv.URL+"/good")
	if err != nil || c.Name != "Agent" || c.host != strings.TrimPrefix(srv.URL, "https://") || !c.redirectsTo("http://localhost:99/cb") ||
		c.redirectsTo("http://localhost:99/other") {
		t.Errorf("%+v, %v", c, err)
	}
	slow := *f.http
	slow.Timeout = 50 * time.Millisecond
	for path, want := range map[string]string{
		"/other": "another client_id", "/secret": "only token_endpoint_auth_method none", "/plain": "redirect_uris",
		"/moved": "status 302", "/large": "within 65536 bytes",
		"/text": "not a JSON object", "/none": "status 404", "/slow": "could not be fetched", "": "https URL with a path",
		"/": "https URL with a path", "/a/../good": ". or ..",
		"/good#x": "fragment", "/" + strings.Repeat("x", 600): "512 bytes",
	} {
		use := f
		if path == "/slow" {
			use = &fetcher{&slow}
		}
		if _, err := use.fetch(t.Context(), srv.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", path, err, want)
		}
	}
	if _, err := f.fetch(t.Context(), strings.Replace(srv.URL, "https:", "http:", 1)+"/good"); err == nil {
		t.Error("a document was fetched without TLS")
	}
}

// counted is a listener that counts connections.
type counted struct {
	net.Listener
	n atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	nc, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return nc, err
}

// TestDocumentsReachNoPrivateHost: no URL of a document makes the node connect to itself or to its private network,
// whatever its name resolves to.
func TestDocumentsReachNoPrivateHost(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("%s: %v", host, err)
			continue
		}
		seen := &counted{Listener: ln}
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Listener.Close()
		srv.Listener = seen
		srv.StartTLS()
		defer srv.Close()
		_, port, err := net.SplitHostPort(ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		f := newFetcher(isPublic, nil)
		for _, name := range []string{host, "localhost", "0.0.0.0", "::ffff:127.0.0.1", "2130706433"} {
			if _, err := f.fetch(t.Context(), "https://"+net.JoinHostPort(name, port)+"/client"); err == nil {
				t.Errorf("%s was fetched", name)
			}
		}
		if n := seen.n.Load(); n > 0 {
			t.Errorf("%s: %d connections", host, n)
		}
	}
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true,
		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "192.0.0.8": false, "198.18.0.1": false, "203.0.113.1": false, "224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false,
		"ff02::1": false, "::ffff:10.0.0.1": false,
		"::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "2001::1": false,
		"2001:db8::1": false,
	} {
		if isPublic(netip.MustParseAddr(addr)) != want {
			t.Errorf("public(%s) is not %v", addr, want)
		}
	}
}
