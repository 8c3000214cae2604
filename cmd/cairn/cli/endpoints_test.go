package cli

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestAllSilentEndpointsAreNamed: if no endpoint answers, the error names all of them.
func TestAllSilentEndpointsAreNamed(t *testing.T) {
	var closed []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed = append(closed, l.Addr().String())
		l.Close()
	}
	want := "nothing answers at " + strings.Join(closed, ", ") + ": "
	tg := Target{Endpoints: closed, TokenText: "t", Timeout: time.Minute}
	if err := tg.Get(t.Context(), "GET", "/v1/stats", nil, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("over HTTP: %v", err)
	}
	tg = Target{Endpoints: closed, TokenText: "t", Timeout: time.Second}
	err := tg.With(t.Context(), func(context.Context, *client.Client) error { return nil })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("over the wire: %v", err)
	}
}

// TestABoundTokenFindsTheWirePort: a token bound to namespaces may not read the cluster's status, but the gateway
// reports its own wire port.
func TestABoundTokenFindsTheWirePort(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/admin/me" {
			_, _ = w.Write([]byte(`{"wire": "a:1", "http": "a:2"}`))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error": "cluster is about more than namespaces", "code": "namespace_denied"}`))
	}))
	t.Cleanup(front.Close)
	tg := Target{Endpoints: []string{front.URL}, TokenText: "t"}
	if got, err := tg.Wire(t.Context()); err != nil || !slices.Equal(got, []string{"a:1"}) {
		t.Errorf("wire ports %v, %v", got, err)
	}
}

// TestEndpointsAreFoundOut: the protocol at an address is detected from its answer, and addresses without a listener
// are skipped.
func TestEndpointsAreFoundOut(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/cluster" {
			_, _ = w.Write([]byte(`{"wire": "a:1", "peers": [{"wire": "b:1", "reachable": true}, {"wire": "c:1", "reachable": false}]}`))
		}
	}))
	t.Cleanup(front.Close)
	web := strings.TrimPrefix(front.URL, "http://")
	other, err := net.Listen("tcp", "127.0.0.1:0") // no gateway: it says nothing in HTTP
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	go func() {
		for {
			nc, err := other.Accept()
			if err != nil {
				return
			}
			nc.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	wire, dead := other.Addr().String(), closed.Addr().String()
	for _, tc := range []struct {
		endpoints []string
		wires     []string
		url       string
	}{
		{[]string{dead, wire, web}, []string{wire}, front.URL},
		{[]string{web, wire}, []string{wire}, front.URL},
		{[]string{front.URL + "/"}, []string{"a:1", "b:1"}, front.URL},
		{[]string{dead, web}, []string{"a:1", "b:1"}, front.URL},
		{[]string{dead}, []string{dead}, "http://" + dead},
	} {
		tg := Target{Endpoints: tc.endpoints, TokenText: "t"}
		if got, err := tg.Wire(t.Context()); err != nil || !slices.Equal(got, tc.wires) {
			t.Errorf("%v: wire ports %v, %v", tc.endpoints, got, err)
		}
		tg = Target{Endpoints: tc.endpoints, TokenText: "t"}
		if got, err := tg.URL(t.Context()); err != nil || got != tc.url {
			t.Errorf("%v: gateway %q, %v", tc.endpoints, got, err)
		}
	}
	tg := Target{Endpoints: []string{wire}, TokenText: "t"}
	if _, err := tg.URL(t.Context()); err == nil || !strings.Contains(err.Error(), "connect: "+wire) {
		t.Errorf("the gateway of a node without one: %v", err)
	}
	for _, bad := range []string{"a", "ftp://a:1", "http://", ""} {
		tg := Target{Endpoints: []string{bad}}
		if _, err := tg.Wire(t.Context()); err == nil || !strings.Contains(err.Error(), "neither host:port nor http://host:port") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAnotherEndpointKnowsTheLeader: if a gateway knows no leader, because it is partitioned or removed, the next
// endpoint is tried. An endpoint that is down does not hide the others' errors, and a rejection is final.
func TestAnotherEndpointKnowsTheLeader(t *testing.T) {
	answers := func(status int, body string) string {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(front.Close)
		return front.URL
	}
	none := answers(http.StatusServiceUnavailable, `{"error": "read-only: no leader elected", "code": "not_leader"}`)
	leads, rejects := answers(http.StatusOK, `{}`), answers(http.StatusBadRequest, `{"error": "text is blank", "code": "invalid_request"}`)
	for want, at := range map[string][]string{
		"":                             {none, "http://127.0.0.1:1", leads},
		"read-only: no leader elected": {none, "http://127.0.0.1:1"},
		"text is blank":                {none, rejects, leads},
	} {
		tg, said := Target{Endpoints: at, TokenText: "t"}, ""
		r, err := tg.Request(t.Context(), "POST", "/v1/remember", map[string]any{})
		if err != nil {
			said = err.Error()
		} else {
			r.Close()
		}
		if said != want {
			t.Errorf("%d endpoints: %q, want %q", len(at), said, want)
		}
	}
}

// TestNoTokenInPlainText: if a port uses TLS and the flags do not, the command stops after the probe, so that it
// sends no token in plain text. A gateway answers the probe like net/http, a wire port with an error frame.
func TestNoTokenInPlainText(t *testing.T) {
	frame, err := wire.AppendPack(nil, wire.OpError, 0,
		&wire.Error{Code: wire.CodeInvalidPayload, Message: "this port speaks TLS", Details: wire.JSON(`{"tls":true}`)}, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]string{
		"gateway": "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "wire port": string(frame),
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var connections atomic.Int32
		go func() {
			for {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				_, _ = nc.Read(make([]byte, 4096))
				_, _ = nc.Write([]byte(answer))
				nc.Close()
			}
		}()
		for _, ask := range []func(*Target) error{
			func(tg *Target) error { _, err := tg.Request(t.Context(), "GET", "/v1/cluster", nil); return err },
			func(tg *Target) error { _, err := tg.Dial(t.Context()); return err },
		} {
			connections.Store(0)
			err := ask(&Target{Endpoints: []string{ln.Addr().String()}, TokenText: "t"})
			if err == nil || !strings.Contains(err.Error(), "this port speaks TLS") || connections.Load() != 1 {
				t.Errorf("%s: %v, after %d connections", name, err, connections.Load())
			}
		}
		ln.Close()
	}
}
