package node_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestMembersAskInACallersName checks that a node queries the others for a client over the peer port, in the client's
// name. A listener at the advertised gateways gets no connection, and so no token.
func TestMembersAskInACallersName(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var came atomic.Int64
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			nc.Close()
		}
	}()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Addresses.AdvertiseHTTP = ln.Addr().String() })
	lead := c.leader()
	w := c.web((lead + 1) % 3)
	w.ok("POST", "/v1/databases", obj{"name": "mine"})
	token := w.createToken(obj{"database": "mine", "scopes": []string{"read", "write"}})
	mine := w.with(token)
	for range 2 {
		mine.ok("POST", "/v1/remember", obj{"text": "Ada drinks tea"})
	}
	c.agree()
	for i := range 3 { // each node is asked once, so each knows one question
		other := c.web(i).with(token)
		suite.Eventually(t, "the token is known there",
			func() bool { status, _ := other.send("GET", "/v1/stats", nil); return status == 200 })
		other.ok("POST", "/v1/recall", obj{"query": "what does Ada drink?"})
	}
	if got := mine.ok("GET", "/v1/insights/gaps?max_avg_top_score=100", nil); got["count"] != 1.0 ||
		got["gaps"].([]any)[0].(obj)["count"] != 3.0 {
		t.Errorf("gaps of three nodes: %v", got)
	}
	for _, query := range []string{"Ada", ""} {
		if got := mine.ok("POST", "/v1/recall/compare", obj{"query": query}); got["equal"] != true || len(got["nodes"].([]any)) != 3 ||
			got["nodes"].([]any)[2].(obj)["total"] != 2.0 {
			t.Errorf("three nodes compared, by %q: %v", query, got)
		}
	}
	for _, path := range []string{"/v1/cluster/metrics", "/v1/cluster/keys"} {
		for _, n := range w.ok("GET", path, nil)["nodes"].([]any) {
			if n.(obj)["error"] != nil {
				t.Errorf("%s: %v", path, n)
			}
		}
	}
	if got := mine.ok("POST", "/v1/think", obj{"run_consolidation": false}); got["log_index"] == "0" {
		t.Errorf("think: %v", got)
	}
	host := api.At{Host: c.nodes[(lead+1)%3].Host(), Database: "mine"} // a dialect's client has no token at all
	if a, err := api.Think.Ask(t.Context(), host, &api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true}}); err != nil ||
		a.Index == 0 {
		t.Errorf("think for a dialect: %+v, %v", a, err)
	}
	if n := came.Load(); n != 0 {
		t.Errorf("%d connections came to an address that members advertise for clients", n)
	}
}

// TestWhatMembersMayAsk checks that a member may request only a few operations, and only for callers with the right
// on this node. It does not trust what the member claims about a token's rights.
func TestWhatMembersMayAsk(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	w.ok("POST", "/v1/databases", obj{"name": "mine"})
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	made := func(scopes ...string) string {
		return access.HashToken(w.createToken(obj{"database": "mine", "scopes": scopes}))
	}
	reader, ended := made("read"), w.createToken(obj{"database": "mine"})
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": ended})
	ask := func(m wire.Forward) string {
		t.Helper()
		out, err := c.nodes[0].Service().Forward(t.Context(), 2, m)
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			Answer []byte       `msgpack:"a,omitempty"`
			Err    *oplog.Error `msgpack:"e,omitempty"`
		}
		if err := oplog.Unpack(out, &a); err != nil {
			t.Fatal(err)
		}
		if a.Err != nil {
			return a.Err.Text
		}
		return string(a.Answer)
	}
	of := func(name, token, database string) wire.Forward {
		return wire.Forward{Operation: name, Request: wire.JSON(`{}`), Token: token, Database: database,
			Asker: wire.Asker{By: api.ByMaster}}
	}
	for _, tc := range []struct {
		name string
		m    wire.Forward
		want string
	}{
		{"gaps, for a reader", of("gaps", reader, "mine"), `{"count":0`},
		{"gaps of another database", of("gaps", reader, "other"), "database 'other' not found"},
		{"think, for a reader", of("think", reader, "mine"), "token has no write scope"},
		{"keys, for a reader", of("cluster_keys", reader, "mine"), "token has no admin scope"},
		{"gaps, for a token that has ended", of("gaps", access.HashToken(ended), "mine"), "invalid or revoked token"},
		{"gaps, for nobody", wire.Forward{Operation: "gaps", Request: wire.JSON(`{}`), Database: "mine"}, "invalid or revoked token"},
		{"keys, for the master", of("cluster_keys", "", "mine"), `{"nodes":`},
		{"no object", wire.Forward{Operation: "gaps", Request: wire.JSON(`[]`), Token: reader, Database: "mine"}, "want an object"},
	} {
		if said := ask(tc.m); !strings.HasPrefix(said, tc.want) && !strings.HasSuffix(said, tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, said, tc.want)
		}
	}
	asked := 0
	for _, op := range api.Ops {
		if op.Asked {
			asked++
			continue
		}
		if said := ask(of(op.Name, "", "mine")); !strings.HasPrefix(said, "members ask each other for no operation") {
			t.Errorf("%s: %s", op.Name, said)
		}
	}
	if asked == 0 || asked > 5 {
		t.Errorf("members ask each other for %d operations: each is a right of every member", asked)
	}
}
