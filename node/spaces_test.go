package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestABoundTokenOnEverySurface queries the leader and a follower with a token bound to agents/billing, over HTTP, as
// a model and over the wire. Its memories are in that namespace, it sees no others, and operations that cannot be
// limited are rejected with a text that names the bound. Package engine tests every operation.
func TestABoundTokenOnEverySurface(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	l := c.leader()
	admin := c.web(l)
	theirs := admin.ok("POST", "/v1/remember", obj{"text": "Zebrawood is paid on Friday.", "namespace": "agents/billing2"})["rid"].(string)
	for i := range 3 {
		c.web(i).ok("POST", "/v1/recall", obj{"query": "what does the quokka earn", "namespace": "agents/billing2"})
	}
	const gaps = "/v1/insights/gaps?min_count=1&max_avg_top_score=1000000"
	if out := asText(t, admin.ok("GET", gaps, nil)); !strings.Contains(out, "quokka") {
		t.Errorf("the nodes forgot a question: %s", out)
	}
	token := admin.createToken(obj{"label": "billing", "scopes": []string{"read", "write", "owner"},
		"namespaces": []string{"agents/billing/"}})
	for _, i := range []int{l, (l + 1) % 3} {
		w, at := c.web(i).with(token), c.nodes[i].Addrs().Wire
		suite.Eventually(t, "the node knows the token", func() bool {
			status, out := w.send("GET", "/v1/admin/me", nil)
			return status == http.StatusOK && out["namespaces"].([]any)[0] == "agents/billing"
		})
		mine := w.ok("POST", "/v1/remember", obj{"text": "Invoices leave on Monday.", "near": true})
		if m := w.ok("GET", "/v1/memory/"+mine["rid"].(string), nil); m["namespace"] != "agents/billing" {
			t.Errorf("a memory without a namespace is in %v", m["namespace"])
		}
		if out := w.ok("POST", "/v1/recall",
			obj{"query": "when is Zebrawood paid", "min_index": mine["log_index"]}); strings.Contains(asText(t, out), "Zebra") {
			t.Errorf("recall finds what others stored: %v", out)
		}
		if all := strings.Join(w.exported(), "\n"); !strings.Contains(all, "Invoices") || strings.Contains(all, "Zebra") {
			t.Errorf("export: %s", all)
		}
		for _, ask := range [][2]string{{"GET", "/v1/memory/" + theirs}, {"POST", "/v1/forget"}, {"POST", "/v1/correct"}} {
			var body any
			if ask[0] == "POST" {
				body = obj{"rid": theirs, "reason": "none", "new_text": "none"}
				if ask[1] == "/v1/forget" {
					body = obj{"rid": theirs}
				}
			}
			if status, out := w.send(ask[0], ask[1], body); status != http.StatusNotFound {
				t.Errorf("%s: %d %v", ask, status, out)
			}
		}
		status, out := w.send("POST", "/v1/remember", obj{"text": "x", "namespace": "agents/billing2"})
		if status != http.StatusForbidden || out["code"] != "namespace_denied" ||
			!strings.Contains(out["error"].(string), `"agents/billing2"`) || !strings.Contains(out["error"].(string), "agents/billing/") {
			t.Errorf("a memory for others: %d %v", status, out)
		}
		if said := refusal(t, at, token, wire.OpRecall,
			&wire.Recall{Query: "x", TopK: 1, Namespace: new("agents/billing2")}); !strings.Contains(said, "bound to agents/billing/") {
			t.Errorf("a recall for others over the wire: %q", said)
		}
		if _, _, said := w.tool("recall", obj{"query": "x", "namespace": "agents/billing2"}); !strings.Contains(said, "bound to agents/billing/") {
			t.Errorf("a recall for others by a model: %q", said)
		}
		if out := asText(t, w.ok("GET", gaps, nil)); strings.Contains(out, "quokka") {
			t.Errorf("gaps tell what others ask, here or on other nodes: %s", out)
		}
		if m := w.metrics(); strings.Contains(m, `db="default"`) {
			t.Error("metrics count the whole database")
		}
		checkBoundRejected(t, w, at)
	}
	if m := admin.ok("GET", "/v1/memory/"+theirs, nil); m["revision"] != 0. || m["consolidation_status"] != "active" {
		t.Errorf("the token changed what others stored: %v", m)
	}
	listed := asText(t, admin.ok("GET", "/v1/admin/tokens", nil))
	audit := asText(t, admin.ok("GET", "/v1/admin/audit", nil))
	if !strings.Contains(listed, `"namespaces":["agents/billing"]`) || !strings.Contains(audit, "namespaces agents/billing/") {
		t.Errorf("neither list nor audit name the namespaces: %s %s", listed, audit)
	}
	for _, bad := range []obj{{"namespaces": []string{"/"}}, {"namespaces": []string{strings.Repeat("x", 600)}},
		{"namespaces": slices.Repeat([]string{"a"}, 17)},
		{"namespaces": []string{"a"}, "scopes": []string{"admin"}}} {
		if status, out := admin.send("POST", "/v1/admin/tokens", bad); status != http.StatusBadRequest {
			t.Errorf("a token with %v: %d %v", bad, status, out)
		}
	}
}

// TestAMovedMemoryLeavesItsPast checks that a token that is bound to a namespace reads what a memory has said there,
// and not what it said before it was moved there: in revisions and exports.
func TestAMovedMemoryLeavesItsPast(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	rid := w.ok("POST", "/v1/remember", obj{"text": "Ada earns 100.", "namespace": "pay"})["rid"].(string)
	correct := func(text string) { w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": text, "reason": "checked"}) }
	correct("Ada is paid on Friday.")
	w.ok("POST", "/v1/move", obj{"rid": rid, "to": "staff"})
	correct("Ada is paid on Monday.")
	past := "/v1/memory/" + rid + "/revisions"
	for _, c := range []struct {
		spaces []string
		want   string
	}{{[]string{"staff"}, "[2]"}, {[]string{"staff", "pay"}, "[0 1 2]"}} {
		bound := w.with(w.createToken(obj{"label": "reader", "namespaces": c.spaces}))
		got := []any{}
		for _, r := range bound.ok("GET", past, nil)["revisions"].([]any) {
			got = append(got, r.(obj)["revision"])
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("bound to %s: revisions %v, want %s", c.spaces, got, c.want)
		}
		if said := strings.Join(bound.exported(), "\n"); strings.Contains(said, "earns") != (len(c.spaces) > 1) || !strings.Contains(said, "Monday") {
			t.Errorf("bound to %s, the export: %s", c.spaces, said)
		}
	}
	staff := w.with(w.createToken(obj{"label": "staff", "namespaces": []string{"staff"}}))
	if page := staff.ok("GET", past+"?offset=1", nil); len(page["revisions"].([]any)) != 0 {
		t.Errorf("behind the only one: %v", page)
	}
}

// checkBoundRejected checks on each surface that every operation of the table that cannot be limited to namespaces is
// rejected.
func checkBoundRejected(t *testing.T, w *web, at string) {
	t.Helper()
	const bound = "bound to agents/billing/"
	for _, op := range api.Ops {
		if op.Bound != api.Refused || op.Scope == api.Admin {
			continue
		}
		url, join := operation{path: op.Path()}.url(), "?"
		for _, f := range op.InQuery() {
			if f.Must {
				url, join = url+join+f.Name+"=x", "&"
			}
		}
		if op.HTTP != "" {
			var body any
			if op.Method() != "GET" {
				body = arguments(op.InBody())
			}
			if status, out := w.send(op.Method(), url, body); status != http.StatusForbidden || !strings.Contains(asText(t, out), bound) {
				t.Errorf("%s over HTTP: %d %v", op.Name, status, out)
			}
		}
		if op.Tool != nil {
			if _, _, said := w.tool(op.Tool.Name, arguments(op.Takes().ForTools())); !strings.Contains(said, bound) {
				t.Errorf("%s as a tool: %q", op.Name, said)
			}
		}
		if op.Wire != 0 {
			if said := refusal(t, at, w.token, op.Wire, frames[op.Wire]); !strings.Contains(said, bound) {
				t.Errorf("%s over the wire: %q", op.Name, said)
			}
		}
		if op.HTTP != "" && !op.Stream && op.Body == "" && op.Media == "" {
			if said := refusal(t, at, w.token, wire.OpOperation, &wire.Operation{Name: op.Name}); !strings.Contains(said, bound) {
				t.Errorf("%s as OPERATION: %q", op.Name, said)
			}
		}
	}
}

// asText returns a value as JSON.
func asText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
