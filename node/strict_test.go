package node_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// frame sends a JSON request to a node's wire port and returns the answer's opcode and text.
func (c *cluster) frame(op wire.Op, payload string) (wire.Op, string) {
	c.t.Helper()
	nc, err := net.Dial("tcp", c.nodes[0].Addrs().Wire)
	if err != nil {
		c.t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(suite.Patience))
	token, err := json.Marshal(map[string]string{"token": secret})
	if err != nil {
		c.t.Fatal(err)
	}
	r := wire.NewReader(nc, wire.MaxLength)
	for _, f := range []wire.Frame{{Op: wire.OpAuth, Payload: token}, {Op: op, Stream: 1, Payload: []byte(payload)}} {
		f.Flags = wire.Version | wire.FlagJSON
		if _, err := nc.Write(wire.AppendFrame(nil, f)); err != nil {
			c.t.Fatal(err)
		}
		answer, err := r.Next()
		if err != nil {
			c.t.Fatal(err)
		}
		if f.Op == op {
			return answer.Op, string(answer.Payload)
		}
	}
	panic("unreachable")
}

// TestTextsThatAreNotUTF8AreRefused checks that every surface stores a text unchanged or rejects it.
func TestTextsThatAreNotUTF8AreRefused(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	const garbled, where = "{\"text\":\"caf\xe9\"}", "text: byte 12 of the JSON is not UTF-8"
	if got := w.raw("POST", "/v1/remember", garbled); !strings.Contains(got, where) || !strings.Contains(got, "invalid_body") {
		t.Errorf("http: %s", got)
	}
	if got := w.raw("POST", "/v1/remember/batch",
		`{"memories":[{"text":"a"},`+garbled+`]}`); !strings.Contains(got, "memories[1].text: byte ") {
		t.Errorf("http, batch: %s", got)
	}
	if got := w.raw("POST", "/v1/import?skip_refused=true",
		`{"type":"memory",`+garbled[1:]); !strings.Contains(got, "text: byte 28 of the JSON is not UTF-8") {
		t.Errorf("import: %s", got)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":` + garbled + `}}`
	if got := w.raw("POST", "/mcp", call); !strings.Contains(got, "params.arguments.text: byte ") || !strings.Contains(got, "-32700") {
		t.Errorf("mcp: %s", got)
	}
	if op, said := c.frame(wire.OpRemember, garbled); op != wire.OpError || !strings.Contains(said, where) {
		t.Errorf("wire: %s %s", op, said)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/v1/remember", strings.NewReader("\x1f\x8b\x08"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
	if status, out := w.do(req); status != 400 || !strings.Contains(out["error"].(string), `without Content-Encoding "gzip"`) {
		t.Errorf("compressed: %d %v", status, out)
	}
	if got := w.ok("GET", "/v1/stats", nil)["active_memories"]; got != 0.0 {
		t.Errorf("%v memories were stored", got)
	}
}

// TestUnreadableDatesAreRefused checks that every surface rejects invalid dates by name. Older versions ignored them
// and answered with today's memories.
func TestUnreadableDatesAreRefused(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	w.ok("POST", "/v1/remember", obj{"text": "the kiln is cold", "created_at": "2019-06-01"})
	w.ok("POST", "/v1/remember", obj{"text": "the kiln is hot", "created_at": 1622505600})
	for _, at := range []any{"2020-01-01", "2020-01-01T00:00:00Z", 1577836800} {
		if got := w.ok("POST", "/v1/recall", obj{"query": "kiln", "time_window": []any{nil, at}}); got["total"] != 1.0 {
			t.Errorf("until %v: %v", at, got)
		}
		if got := w.ok("POST", "/v1/recall", obj{"query": "kiln", "time_window": []any{at, "2030-01-01"}}); got["total"] != 1.0 {
			t.Errorf("from %v: %v", at, got)
		}
		if got := w.ok("POST", "/v1/recall", obj{"query": "kiln", "as_of": at}); got["total"] != 1.0 {
			t.Errorf("as of %v: %v", at, got)
		}
	}
	if got := w.ok("GET", "/v1/chronology?from=2019-01-01&to=2020-01-01", nil); got["count"] != 1.0 {
		t.Errorf("chronology: %v", got)
	}
	for _, bad := range []string{`"as_of":"last week"`, `"as_of":{"at":1}`, `"as_of":1577836800000`,
		`"time_window":1577836800`, `"time_window":[1577836800]`,
		`"time_window":["2021-01-01","2020-01-01"]`, `"time_window":["a","b"]`, `"time_window":{"from":1}`} {
		name := strings.Split(bad, `"`)[1]
		if status, out := w.send("POST", "/v1/recall", `{"query":"kiln",`+bad+`}`); status != 400 ||
			!strings.HasPrefix(out["error"].(string), name+": want ") {
			t.Errorf("http %s: %d %v", bad, status, out)
		}
		var args obj
		if err := json.Unmarshal([]byte(`{"query":"kiln",`+bad+`}`), &args); err != nil {
			t.Fatal(err)
		}
		if _, _, failure := w.tool("recall", args); !strings.HasPrefix(failure, name+": want ") {
			t.Errorf("mcp %s: %q", bad, failure)
		}
		if op, said := c.frame(wire.OpRecall, `{"query":"kiln",`+bad+`}`); op != wire.OpError || !strings.Contains(said, name) {
			t.Errorf("wire %s: %s %s", bad, op, said)
		}
	}
	if op, said := c.frame(wire.OpRecall, `{"query":"kiln","since":"2021-01-01","until":"2020-01-01"}`); op != wire.OpError ||
		!strings.Contains(said, "since is after until") {
		t.Errorf("wire, reversed: %s %s", op, said)
	}
	for _, bad := range []string{`"importance":9`, `"half_life":-5`, `"valence":-2`, `"colour":"red"`, `"importance":"high"`} {
		name := strings.Split(bad, `"`)[1]
		if status, out := w.send("POST", "/v1/remember", `{"text":"x",`+bad+`}`); status != 400 ||
			!strings.Contains(out["error"].(string), name) {
			t.Errorf("http %s: %d %v", bad, status, out)
		}
		var args obj
		if err := json.Unmarshal([]byte(`{"text":"x",`+bad+`}`), &args); err != nil {
			t.Fatal(err)
		}
		if _, _, failure := w.tool("remember", args); !strings.Contains(failure, name) {
			t.Errorf("mcp %s: %q", bad, failure)
		}
		if op, said := c.frame(wire.OpRemember, `{"text":"x",`+bad+`}`); op != wire.OpError || !strings.Contains(said, "4000") ||
			!strings.Contains(said, name) {
			t.Errorf("wire %s: %s %s", bad, op, said)
		}
	}
}

// TestLenientTakesWhatTheOldestClientsSend checks that a lenient node accepts requests of the oldest clients, but no
// invalid dates.
func TestLenientTakesWhatTheOldestClientsSend(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Surfaces.Lenient = true })
	w := c.web(0)
	rid := w.ok("POST", "/v1/remember",
		`{"text":"Bob plays the cello","importance":"0.9","valence":3,"embedding":"no","colour":"red","half_life":null}`)["rid"].(string)
	if row := w.ok("GET", "/v1/memory/"+rid+"?colour=red", nil); row["importance"] != 0.5 || row["valence"] != 3.0 ||
		row["half_life"] != 168.0 {
		t.Errorf("stored: %v", row)
	}
	if got := w.ok("POST", "/v1/recall", `{"query":"cello","top_k":-1,"explain":"yes"}`); got["total"] != 1.0 {
		t.Errorf("recall: %v", got)
	}
	if got := w.ok("GET", "/v1/memories?limit=many", nil); got["limit"] != 50.0 {
		t.Errorf("list: %v", got)
	}
	if op, said := c.frame(wire.OpRemember, `{"text":"x","importance":9,"colour":"red"}`); op != wire.OpRememberOK {
		t.Errorf("wire: %s %s", op, said)
	}
	if status, out := w.send("POST", "/v1/recall", `{"query":"cello","as_of":"yesterday"}`); status != 400 ||
		!strings.HasPrefix(out["error"].(string), "as_of: want ") {
		t.Errorf("a date: %d %v", status, out)
	}
	if op, said := c.frame(wire.OpRecall, `{"query":"cello","as_of":"yesterday"}`); op != wire.OpError {
		t.Errorf("a date over the wire: %s %s", op, said)
	}
}

// TestLenientAsksForWhatIsRequired checks that a lenient node also requires the required fields of every operation,
// on every surface.
func TestLenientAsksForWhatIsRequired(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Surfaces.Lenient = true })
	w := c.web(0)
	asked := 0
	for _, op := range api.Ops {
		if op.HTTP == "" || op.Scope == "" {
			continue
		}
		for _, f := range op.InBody() {
			if !f.Must {
				continue
			}
			asked++
			for _, value := range []any{nil, wrongType(f.Kind.Type)} {
				given := arguments(op.InBody())
				if given[f.Name] = value; value == nil {
					delete(given, f.Name)
				}
				if f.Kind.Type == "" && value != nil {
					continue
				}
				status, out := w.send(op.Method(), operation{path: op.Path()}.url(), given)
				if said, _ := out["error"].(string); status != http.StatusBadRequest || !strings.Contains(said, f.Name) {
					t.Errorf("%s with %s %v: %d %v", op.Name, f.Name, value, status, out)
				}
				if op.Tool == nil {
					continue
				}
				for name, other := range arguments(op.Takes().ForTools()) { // including the fields that HTTP has in the path
					if _, there := given[name]; !there && name != f.Name {
						given[name] = other
					}
				}
				if _, _, said := w.tool(op.Tool.Name, given); !strings.Contains(said, f.Name) {
					t.Errorf("%s as a tool with %s %v: %q", op.Name, f.Name, value, said)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("%d required fields were tried", asked)
	}
	if op, said := c.frame(wire.OpRemember, `{}`); op != wire.OpError {
		t.Errorf("REMEMBER of nothing: %s %s", op, said)
	}
	if op, said := c.frame(wire.OpForget, `{}`); op != wire.OpError {
		t.Errorf("FORGET of nothing: %s %s", op, said)
	}
	if got := w.ok("GET", "/v1/stats", nil); got["operations"] != 0.0 || got["active_memories"] != 0.0 {
		t.Errorf("stored all the same: %v", got)
	}
}

// TestKnownClientsPass checks that every field and value that today's clients of the protocol send is accepted by
// default.
func TestKnownClientsPass(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	first := w.ok("POST", "/v1/remember",
		obj{"text": "Ada leads", "importance": 0.5, "memory_type": "semantic", "domain": "", "source": "user",
			"namespace": "", "metadata": obj{},
			"valence": 0, "half_life": 168.0, "certainty": 1.0})["rid"]
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/v1/remember",
			obj{"text": "Ada", "namespace": "hermes", "importance": 0.6, "domain": "work", "memory_type": "semantic",
				"metadata": obj{"a": 1}, "idempotency_key": "k1"}},
		{"POST", "/v1/recall", obj{"query": "who", "top_k": 10, "include_consolidated": false, "expand_entities": true}},
		{"POST", "/v1/recall",
			obj{"query": "who", "top_k": 10, "namespace": "hermes", "include_superseded": true, "time_window": []float64{0, 4e9}}},
		{"POST", "/v1/recall/compare", obj{"query": "who", "top_k": 10, "explain": true, "namespace": "hermes"}}, // the console
		{"GET", "/v1/entities?limit=300", nil},
		{"GET", "/v1/chronology?entity=a&limit=20", nil},
		{"POST", "/v1/forget", obj{"rid": "none", "reason": "old", "namespace": "hermes"}},
		{"POST", "/v1/relate", obj{"entity": "a", "target": "b", "relationship": "knows", "weight": 1.0, "namespace": "hermes"}},
		{"POST", "/v1/relate", obj{"src": "a", "dst": "b", "rel_type": "knows", "weight": 1.0}},
		{"POST", "/v1/graph", obj{"action": "query", "entity": "a"}},
		{"POST", "/v1/think", obj{"run_consolidation": false, "run_conflicts": true, "run_patterns": false, "run_personality": false}},
		{"POST", "/v1/think",
			obj{"run_consolidation": true, "run_conflict_scan": true, "run_pattern_mining": false, "run_personality": false,
				"consolidation_limit": 50, "namespace": "hermes"}},
		{"POST", "/v1/correct",
			obj{"rid": first, "reason": "typo", "new_text": "Ada led", "new_importance": 0.7, "new_valence": 0.1,
				"metadata_merge": obj{"b": 2}}},
		{"GET", "/v1/stats?namespace=hermes", nil},
		{"GET", "/v1/conflicts?status=open&limit=100&namespace=hermes&priority=high", nil},
		{"GET", "/v1/session/digest?max_decisions=8&max_conflicts=5&max_triggers=5&snippet_chars=240&namespace=hermes&scope=all&include_gaps=true&max_gaps=5", nil},
		{"GET", "/v1/insights/gaps?min_count=2&max_avg_top_score=0.5&limit=10&namespace=hermes", nil},
		{"GET", "/v1/memories?namespace=hermes&status=active&limit=50&offset=0&sort=created_at", nil},
		{"GET", "/v1/memory/" + first.(string) + "?namespace=hermes", nil},
		{"POST", "/v1/sessions", obj{"namespace": "default", "client_id": "c", "metadata": obj{}}},
		{"POST", "/v1/session/end", obj{"summary": "It works.", "namespace": "hermes", "domain": "work"}},
		{"POST", "/v1/claim",
			obj{"src": "a", "rel_type": "leads", "dst": "b", "namespace": "hermes", "polarity": 1, "modality": "asserted",
				"valid_from": 1.5e9, "valid_to": nil, "extractor": "x", "confidence_band": "high"}},
		{"GET", "/v1/claims?entity=a&namespace=hermes", nil},
		{"POST", "/v1/alias", obj{"alias": "A.", "canonical_name": "a", "namespace": "default", "source": "explicit"}},
	} {
		if status, out := w.send(call.method, call.path, call.body); status != 200 {
			t.Errorf("%s %s: %d %v", call.method, call.path, status, out)
		}
	}
}
