package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestWhereTheTokenComesFrom(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "of the home\n", "other": "of the file\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ cairn, yql, file, want string }{
		{"", "", "", "of the home"},
		{"", "theirs", "", "theirs"},
		{"ours\n", "theirs", "", "ours"},
		{"ours", "theirs", filepath.Join(dir, "other"), "of the file"},
	} {
		t.Setenv("CAIRN_TOKEN", tc.cairn)
		t.Setenv("YQL_TOKEN", tc.yql)
		tg := Target{Home: dir, TokenFile: tc.file}
		if got, err := tg.Token(); err != nil || got != tc.want {
			t.Errorf("%+v: %q, %v", tc, got, err)
		}
	}
}

// TestAddressesAreFound: commands read the addresses that a node writes into its home.
func TestAddressesAreFound(t *testing.T) {
	home := t.TempDir()
	if err := (Addresses{Wire: "a:1", HTTP: "a:2", Cluster: "a:3"}).Write(home); err != nil {
		t.Fatal(err)
	}
	tg := Target{Home: home}
	if url, err := tg.URL(t.Context()); err != nil || url != "http://a:2" {
		t.Errorf("%q, %v", url, err)
	}
	if i, err := os.Stat(filepath.Join(home, addressFile)); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i.Mode(), err)
	}
}

// TestAHomeThatAFlagNamesWins checks that --home overrides CAIRN_ENDPOINTS, also for the verbs of a group, which share
// a target.
func TestAHomeThatAFlagNamesWins(t *testing.T) {
	t.Setenv("CAIRN_ENDPOINTS", "http://of.the.environment:1")
	home := t.TempDir()
	if err := (Addresses{HTTP: "a:2"}).Write(home); err != nil {
		t.Fatal(err)
	}
	var tg Target
	var got string
	group := &cobra.Command{Use: "group"}
	for _, name := range []string{"first", "last"} {
		c := &cobra.Command{Use: name, RunE: func(c *cobra.Command, _ []string) (err error) {
			got, err = tg.URL(c.Context())
			return err
		}}
		tg.Flags(c)
		group.AddCommand(c)
	}
	for _, name := range []string{"first", "last"} {
		group.SetArgs([]string{name, "--home", home})
		if err := group.ExecuteContext(t.Context()); err != nil || got != "http://a:2" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestInputEndsWithItsContext: a command that waits for input can be interrupted.
func TestInputEndsWithItsContext(t *testing.T) {
	silent, typed := io.Pipe()
	t.Cleanup(func() { typed.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	in := (&Streams{In: silent}).Input(ctx)
	if _, err := io.WriteString(typed, "begun"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if b, err := io.ReadAll(in); !errors.Is(err, context.Canceled) {
		t.Errorf("read %q, %v", b, err)
	}
	if b, err := io.ReadAll((&Streams{In: strings.NewReader("all of it")}).Input(t.Context())); err != nil || string(b) != "all of it" {
		t.Errorf("read %q, %v", b, err)
	}
}

// TestANodeThatDiesIsNamed: if the connection ends before the answer, the error names the node instead of EOF, and
// warns that a change may have happened.
func TestANodeThatDiesIsNamed(t *testing.T) {
	var plain, secured *httptest.Server // HTTP/1.1 and HTTP/2, as the gateway speaks it over TLS
	dies := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		go plain.CloseClientConnections()
		go secured.CloseClientConnections()
		<-r.Context().Done()
	})
	plain, secured = httptest.NewServer(dies), httptest.NewUnstartedServer(dies)
	secured.EnableHTTP2 = true
	secured.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secured.Close)
	tg := Target{TokenText: "t", Timeout: time.Minute}
	for method, may := range map[string]bool{"GET": false, "POST": true} {
		for _, srv := range []*httptest.Server{plain, secured} {
			if tg.tlsConfig = nil; srv == secured {
				tg.tlsConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
			}
			_, err := tg.RequestAt(t.Context(), method, srv.URL+"/v1/put", nil, nil)
			var advice hintedError
			if err == nil || !strings.Contains(err.Error(), "ended the connection before it answered") || errors.As(err, &advice) != may {
				t.Errorf("%s %s: %v", method, srv.URL, err)
			}
		}
	}
}

// TestAPortThatIsNotMeantIsAdvised: errors about an expired certificate, a certificate of another host, and a port of
// another protocol have a hint.
func TestAPortThatIsNotMeantIsAdvised(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ended := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(-time.Hour), DNSNames: []string{"localhost"}, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, ended, ended, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secured := httptest.NewTLSServer(nil)
	t.Cleanup(secured.Close)
	late := httptest.NewUnstartedServer(nil)
	late.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	late.StartTLS()
	t.Cleanup(late.Close)
	own := x509.NewCertPool()
	own.AddCert(secured.Certificate())
	if cert, err := x509.ParseCertificate(der); err == nil {
		own.AddCert(cert)
	}
	greets, answers := foreign(t, false), foreign(t, true)
	for at, want := range map[string]string{
		strings.Replace(secured.URL, "127.0.0.1", "localhost", 1): "as its certificate does",
		strings.Replace(late.URL, "127.0.0.1", "localhost", 1):    "check this machine's clock",
		greets:  "name a port for clients",
		answers: "name a port for clients",
	} {
		tg := Target{TokenText: "t", Timeout: time.Minute, tlsConfig: &tls.Config{RootCAs: own}}
		var advice hintedError
		if _, err := tg.RequestAt(t.Context(), "GET", at+"/v1/stats", nil, nil); !errors.As(err, &advice) || !strings.Contains(advice.hint, want) {
			t.Errorf("%s: %v, want a hint with %q", at, err, want)
		}
	}
}

// foreign serves a protocol other than HTTP, in which the server sends first or answers the client. It returns the
// URL.
func foreign(t *testing.T, second bool) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for nc, err := ln.Accept(); err == nil; nc, err = ln.Accept() {
			if second {
				nc.Read(make([]byte, 1))
			}
			nc.Write([]byte("no words of HTTP\n"))
			io.Copy(io.Discard, nc)
			nc.Close()
		}
	}()
	return "http://" + ln.Addr().String()
}

// TestATokenThatCannotBeReadIsNamed: the error names the unreadable token file, not only that the node requires a
// token.
func TestATokenThatCannotBeReadIsNamed(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"missing Bearer token","code":"unauthenticated"}`, http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	tg := Target{TokenFile: filepath.Join(t.TempDir(), "tokne"), Timeout: time.Minute}
	if _, err := tg.RequestAt(t.Context(), "GET", srv.URL+"/v1/stats", nil, nil); err == nil || !strings.Contains(err.Error(), "tokne") {
		t.Errorf("%v", err)
	}
}

// TestATokenThatMayNotIsAdvised: rejections of a token by a gateway have the same hint as those by a wire port.
func TestATokenThatMayNotIsAdvised(t *testing.T) {
	for code, status := range map[string]int{"unauthenticated": 401, "insufficient_scope": 403, "namespace_denied": 403} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"it may not","code":"`+code+`"}`, status)
		}))
		t.Cleanup(srv.Close)
		tg := Target{TokenText: "t", Timeout: time.Minute}
		_, err := tg.RequestAt(t.Context(), "GET", srv.URL+"/v1/audit", nil, nil)
		if advice := (hintedError{}); !errors.As(err, &advice) || advice.hint != tokenAdvice {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestAnElectionIsAdvised: the hint without a leader is to repeat the request; without a quorum the error names the
// missing nodes.
func TestAnElectionIsAdvised(t *testing.T) {
	for text, may := range map[string]bool{"no leader elected": true, "no leader elected: no quorum, node 2 unreachable": false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"`+text+`","code":"not_leader"}`, http.StatusServiceUnavailable)
		}))
		t.Cleanup(srv.Close)
		tg := Target{Endpoints: []string{srv.URL}, TokenText: "t", Timeout: time.Minute}
		_, err := tg.Request(t.Context(), "POST", "/v1/cluster/remove", nil)
		if advice := (hintedError{}); err == nil || !strings.Contains(err.Error(), text) || errors.As(err, &advice) != may {
			t.Errorf("%s: %v", text, err)
		}
	}
}
