package node_test

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/wire"
)

// TestRefusalsInKnownWords checks the error texts and codes that older clients match.
func TestRefusalsInKnownWords(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, c := range []struct {
		path   string
		body   any
		status int
		text   string
		code   string
	}{
		{"/v1/relate", obj{}, 400, "missing 'entity'", "invalid_request"},
		{"/v1/relate", obj{"entity": "a"}, 400, "missing 'target'", "invalid_request"},
		{"/v1/databases", obj{}, 400, "missing 'name'", "invalid_request"},
		{"/v1/conflicts/x/resolve", obj{}, 400, "missing 'strategy'", "invalid_request"},
		{"/v1/conflicts/x/resolve", obj{"strategy": "best"}, 400, "sync error: unknown resolution strategy: best", "invalid_request"},
		{"/v1/conflicts/x/resolve", obj{"strategy": "merge"}, 400, "sync error: merge strategy requires new_text", "invalid_request"},
		{"/v1/conflicts/x/resolve", obj{"strategy": "keep_a"}, 404, "memory not found: conflict: x", "conflict_not_found"},
	} {
		if status, got := w.send("POST", c.path, c.body); status != c.status || got["error"] != c.text || got["code"] != c.code {
			t.Errorf("%s %v: %d %v, want %d %q %s", c.path, c.body, status, got, c.status, c.text, c.code)
		}
	}
	w.ok("POST", "/v1/sessions", obj{"client_id": "c"})
	if status, got := w.send("POST", "/v1/sessions", obj{"client_id": "c"}); status != 409 || got["session_id"] == nil ||
		got["error"] != "session conflict: active session already exists for namespace=default, client_id=c" {
		t.Errorf("a second session: %d %v", status, got)
	}
	w.ok("POST", "/v1/admin/databases/default/quota", obj{"max_memories": 1})
	w.ok("POST", "/v1/remember", obj{"text": "the first"})
	if status, got := w.send("POST", "/v1/remember", obj{"text": "the second"}); status != 429 ||
		got["error"] != "would exceed memory quota: current=1, adding=1, max=1" {
		t.Errorf("over the quota: %d %v", status, got)
	}
	if got := w.ok("GET", "/v1/cluster", nil); got["clustered"] != false || got["message"] != "single-node mode (no replication)" {
		t.Errorf("cluster: %v", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/v1/relate", strings.NewReader(`{"src":"a","dst":"b","rel_type":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + w.token}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := resp.Header; resp.StatusCode != 200 || h.Get("Deprecation") != "true" || h.Get("Link") != `</v1/claim>; rel="successor-version"` {
		t.Errorf("relate: %d %v", resp.StatusCode, h)
	}
}

// TestForeignPeersAreRefusedInKnownWords checks the error texts and codes that older peers match. Errors before the
// answer to the hello end the connection; later ones do not.
func TestForeignPeersAreRefusedInKnownWords(t *testing.T) {
	t.Parallel()
	addr := start(t, 1).nodes[0].Addrs().Cluster
	refused := func(p *peerConn, op wire.Op, m wire.Message, code wire.Code, text string) {
		t.Helper()
		var e wire.Error
		f := p.ask(op, m)
		if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil || f.Op != wire.OpError || e.Code != code ||
			!strings.HasPrefix(e.Message, text) {
			t.Errorf("%s: %s %d %q, %v; want %d %q", op, f.Op, e.Code, e.Message, err, code, text)
		}
	}
	hello := func(change func(*wire.ClusterHello)) *wire.ClusterHello {
		h := &wire.ClusterHello{NodeID: 77, Role: "voter", ClusterSecret: secret, AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1}
		change(h)
		return h
	}
	for _, c := range []struct {
		op   wire.Op
		m    wire.Message
		code wire.Code
		text string
	}{
		{wire.OpPing, &wire.Nothing{}, 4000, "expected ClusterHello"},
		{wire.OpClusterHello, &wire.Nothing{}, 4000, "invalid payload: missing field `node_id`"},
		{wire.OpClusterHello, hello(func(h *wire.ClusterHello) { h.ClusterSecret = "wrong" }), 6003, "cluster secret mismatch"},
		{wire.OpClusterHello, hello(func(h *wire.ClusterHello) { h.ClusterSecret = "" }), 6003, "cluster secret mismatch"},
		{wire.OpClusterHello, hello(func(h *wire.ClusterHello) { h.ProtocolVersion = 2 }), 4000, "protocol version mismatch: peer=2, ours=1"},
	} {
		p := dialPeerPort(t, addr)
		refused(p, c.op, c.m, c.code, c.text)
		if f, err := p.r.Next(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: it goes on: %s, %v", c.text, f, err)
		}
	}
	p := dialStranger(t, addr)
	refused(p, wire.OpRemember, &wire.Nothing{}, 4000, "unsupported cluster opcode: Remember")
	refused(p, wire.Op(0x99), &wire.Nothing{}, 4000, "")
	refused(p, wire.OpOplogPull, &wire.Nothing{}, 4000, "invalid payload: missing field `limit`")
	refused(p, wire.OpOplogPull, &wire.OplogPull{Database: "none", Limit: 1}, 5000, "database 'none' not found")
	var all wire.DatabaseList
	if f := p.ask(wire.OpClusterDatabaseList, &wire.Nothing{}); wire.Unpack(f, &all, wire.MaxPlainPeer) != nil ||
		f.Op != wire.OpClusterDatabaseListResult || !slices.Equal(all.Databases, []string{"default"}) {
		t.Errorf("databases: %s %v", f, all.Databases)
	}
	if f := p.ask(wire.OpPing, &wire.Nothing{}); f.Op != wire.OpPong || len(f.Payload) != 0 {
		t.Errorf("ping: %s", f)
	}
}
