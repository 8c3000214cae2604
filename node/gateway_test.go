package node_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog/suite"
)

func (c *cluster) web(i int) *web {
	return &web{t: c.t, base: "http://" + c.nodes[i].Addrs().HTTP, token: secret}
}

func TestGatewayMemories(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	rid := w.ok("POST", "/v1/remember",
		obj{"text": "Alice leads the payments team", "importance": 0.5, "metadata": obj{"a": 1}, "namespace": "  "})["rid"].(string)
	if len(rid) != 36 {
		t.Errorf("rid %q", rid)
	}
	batch := w.ok("POST", "/v1/remember/batch",
		obj{"memories": []obj{{"text": "Bob leads search"}, {"text": "the deploy failed on friday", "namespace": "ops", "half_life": 24}}})
	if len(batch["rids"].([]any)) != 2 || batch["count"] != 2.0 {
		t.Errorf("batch: %v", batch)
	}
	if got := w.ok("POST", "/v1/remember/batch", obj{"memories": []obj{}}); fmt.Sprint(got["rids"], got["count"]) != "[] 0" {
		t.Errorf("empty batch: %v", got)
	}
	found := w.ok("POST", "/v1/recall", obj{"query": "who leads payments", "top_k": 5.0, "namespace": "", "min_score": 0})
	rows := found["results"].([]any)
	first := rows[0].(obj)
	const want = "certainty created_at domain importance memory_type metadata namespace rid score source text valence why_retrieved"
	if len(rows) != 2 || found["considered"] != 2.0 || found["below_min_score"] != 0.0 || first["rid"] != rid || keys(first) != want ||
		first["importance"] != 0.5 || first["namespace"] != "default" {
		t.Errorf("recall: %v", found)
	}
	if got := w.ok("POST", "/v1/recall", obj{"query": "leads", "namespace": "ops"}); got["total"] != 0.0 || got["considered"] != 0.0 {
		t.Errorf("filtered: %v", got)
	}
	if got := w.ok("POST", "/v1/recall", obj{"query": "who leads payments", "min_score": .5}); got["total"] != 1.0 ||
		got["considered"] != 2.0 || got["below_min_score"] != 1.0 {
		t.Errorf("of some score: %v", got)
	}
	if status, _ := w.send("POST", "/v1/recall", obj{"query": "x", "min_score": -1}); status != 400 {
		t.Errorf("a negative min_score: %d", status)
	}
	// without a query: everything that passes the filters
	if got := w.ok("POST", "/v1/recall", obj{"query": " ", "namespace": "ops"}); got["total"] != 1.0 {
		t.Errorf("listed: %v", got)
	}
	fixed := w.ok("POST", "/v1/correct",
		obj{"rid": rid, "reason": "she moved", "new_text": "Alice leads the ledger team", "metadata_merge": obj{"b": 2, "a": nil}})
	if fixed["revision"] != 1.0 || fixed["corrected_rid"] != rid {
		t.Errorf("correct: %v", fixed)
	}
	row := w.ok("GET", fmt.Sprintf("/v1/memory/%s?min_seq=%v", rid, fixed["log_index"]), nil)
	if row["text"] != "Alice leads the ledger team" || row["metadata_json"] != `{"b":2}` || row["half_life"] != 168.0 {
		t.Errorf("memory: %v", row)
	}
	if got := w.ok("GET", "/v1/memory/"+rid+"/revisions", nil)["revisions"].([]any); len(got) != 1 ||
		got[0].(obj)["text"] != "Alice leads the payments team" {
		t.Errorf("revisions: %v", got)
	}
	if got := w.ok("POST", "/v1/undo", obj{"rid": rid}); got["text"] != "Alice leads the payments team" || got["restored"] != 0.0 ||
		got["revision"] != 2.0 {
		t.Errorf("undo: %v", got)
	}
	if row := w.ok("GET", "/v1/memory/"+rid+"?consistency=linearizable", nil); row["text"] != "Alice leads the payments team" ||
		row["metadata_json"] != `{"a":1}` {
		t.Errorf("undone: %v", row)
	}
	if got := w.ok("POST", "/v1/undo", obj{"rid": rid}); got["text"] != "Alice leads the ledger team" || got["restored"] != 1.0 {
		t.Errorf("undo of an undo: %v", got)
	}
	if got := w.ok("POST", "/v1/undo", obj{"rid": rid, "revision": 0}); got["text"] != "Alice leads the payments team" ||
		got["revision"] != 4.0 {
		t.Errorf("undo to a revision: %v", got)
	}
	for revision, want := range map[any]int{9: 404, -1: 400, "x": 400} {
		if status, got := w.send("POST", "/v1/undo", obj{"rid": rid, "revision": revision}); status != want {
			t.Errorf("undo to revision %v: %d %v", revision, status, got)
		}
	}
	if status, got := w.send("POST", "/v1/undo", obj{"rid": rows[1].(obj)["rid"]}); status != 409 {
		t.Errorf("undo without a correction: %d %v", status, got)
	}
	if got := w.ok("GET", "/v1/namespaces", nil); fmt.Sprint(got) != "map[namespaces:[map[active:1 forgotten:0 merged:0 name:ops] map[active:2 forgotten:0 merged:0 name:default]] next:<nil>]" {
		t.Errorf("namespaces: %v", got)
	}
	if got := w.ok("GET", "/v1/namespaces?limit=1", nil); got["next"] != "ops" {
		t.Errorf("a page of namespaces: %v", got)
	}
	if got := w.ok("GET", "/v1/namespaces?limit=1&after=ops", nil); got["next"] != nil ||
		got["namespaces"].([]any)[0].(obj)["name"] != "default" {
		t.Errorf("the page behind it: %v", got)
	}
	if got := w.ok("GET", "/v1/memories?limit=2", nil); len(got["items"].([]any)) != 2 || got["total"] != 3.0 {
		t.Errorf("list: %v", got)
	}
	for _, found := range []bool{true, false} {
		if got := w.ok("POST", "/v1/forget", obj{"rid": rid}); got["found"] != found || got["rid"] != rid {
			t.Errorf("forget: %v, want %v", got, found)
		}
	}
	if status, got := w.send("POST", "/v1/undo", obj{"rid": rid}); status != 409 {
		t.Errorf("undo of a forgetting: %d %v", status, got)
	}
	if got := keys(w.ok("GET", "/v1/stats", nil)); got != "active_memories consolidated_memories edges entities open_conflicts operations pending_triggers tombstoned_memories" {
		t.Errorf("stats: %s", got)
	}
}

// TestUndoKeepsTheVectorOfItsText checks that an undo restores the vector that a client sent with the text, and that
// no embedder replaces it.
func TestUndoKeepsTheVectorOfItsText(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	rid := w.ok("POST", "/v1/remember", obj{"text": "Alice leads payments", "embedding": []float64{1, 0, 0, 0}})["rid"].(string)
	bytes := func() any { return w.ok("GET", "/v1/memory/"+rid, nil)["embedding_bytes"] }
	w.ok("POST", "/v1/correct", obj{"rid": rid, "new_importance": 0.9, "reason": "it matters"})
	w.ok("POST", "/v1/undo", obj{"rid": rid})
	if got := bytes(); got != 16.0 {
		t.Errorf("after the importance was taken back, the vector has %v bytes, want 16", got)
	}
	w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "Bob leads payments", "reason": "Alice moved on"})
	if got := bytes(); got != nil {
		t.Errorf("another text keeps a vector of %v bytes", got)
	}
}

// TestUndoHappensOnce repeats an undo with an unknown outcome by its key, also on another node. An undo based on an
// earlier revision is rejected.
func TestUndoHappensOnce(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	w, other := c.web(0), c.web(1)
	rid := w.ok("POST", "/v1/remember", obj{"text": "Alice leads payments"})["rid"].(string)
	for _, text := range []string{"Bob leads payments", "Carol leads payments"} {
		w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": text, "reason": "a new lead"})
	}
	again := obj{"rid": rid, "idempotency_key": "once"}
	first := w.ok("POST", "/v1/undo", again)
	if first["text"] != "Bob leads payments" || first["restored"] != 1.0 || first["revision"] != 3.0 {
		t.Errorf("undone: %v", first)
	}
	w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "Dan leads payments", "reason": "a new lead", "expected_revision": 3})
	for _, at := range []*web{w, other} {
		if got := at.ok("POST", "/v1/undo", again); got["text"] != first["text"] || got["restored"] != 1.0 || got["revision"] != 3.0 {
			t.Errorf("repeated: %v, want %v", got, first)
		}
	}
	row := func() obj { return other.ok("GET", "/v1/memory/"+rid+"?consistency=linearizable", nil) }
	if row := row(); row["text"] != "Dan leads payments" || row["revision"] != 4.0 {
		t.Errorf("the repeated undo did something: %v", row)
	}
	if status, got := w.send("POST", "/v1/undo", obj{"rid": rid, "idempotency_key": "once", "revision": 0}); status != 409 ||
		got["code"] != "conflict" {
		t.Errorf("another undo under the key: %d %v", status, got)
	}
	status, got := other.send("POST", "/v1/undo", obj{"rid": rid, "expected_revision": 2})
	if status != 409 || got["code"] != "revision_conflict" || got["expected_revision"] != 2.0 || got["revision"] != 4.0 {
		t.Errorf("an undo decided from revision 2: %d %v", status, got)
	}
	for _, at := range []*web{w, other} {
		status, got := at.send("POST", "/v1/undo", obj{"rid": rid, "revision": 9})
		if status != 404 || got["code"] != "revision_not_found" || got["oldest"] != 0.0 || got["newest"] != 3.0 {
			t.Errorf("an undo to a revision that is not there: %d %v", status, got)
		}
	}
	if row := row(); row["revision"] != 4.0 {
		t.Errorf("a refused undo did something: %v", row)
	}
	fix := obj{"rid": rid, "new_text": "Eve leads payments", "reason": "a new lead", "idempotency_key": "fix"}
	for range 2 {
		if got := w.ok("POST", "/v1/correct", fix); got["revision"] != 5.0 {
			t.Errorf("a correction under a key: %v", got)
		}
	}
}

// TestBlankTextIsRefused checks that no surface stores a memory without a word, or changes one to have none, because
// no search could find it.
func TestBlankTextIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	rid := w.ok("POST", "/v1/remember", obj{"text": "Ada drinks tea"})["rid"]
	for _, blank := range []string{"", "  ", "\n\t"} {
		for path, body := range map[string]obj{"/v1/remember": {"text": blank},
			"/v1/remember/batch": {"memories": []obj{{"text": "Ada reads"}, {"text": blank}}},
			"/v1/correct":        {"rid": rid, "new_text": blank, "reason": "a slip"}} {
			if status, answer := w.send("POST", path, body); status != http.StatusBadRequest ||
				!strings.Contains(fmt.Sprint(answer["error"]), "text") {
				t.Errorf("%s of %q: %d, %v", path, blank, status, answer)
			}
		}
		if _, _, failure := w.tool("remember", obj{"text": blank}); !strings.Contains(failure, "text") {
			t.Errorf("the tool took %q: %q", blank, failure)
		}
	}
	if n := w.ok("GET", "/v1/stats", nil)["active_memories"]; n != 1.0 {
		t.Errorf("%v memories", n)
	}
}

func TestGatewayGraphAndSessions(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	edge := w.ok("POST", "/v1/relate", obj{"entity": "Alice", "target": "payments", "relationship": "leads"})["edge_id"]
	if again := w.ok("POST", "/v1/relate",
		obj{"src": "Alice", "dst": "payments", "rel_type": "leads", "weight": 0.5})["edge_id"]; again != edge {
		t.Errorf("edge %v became %v", edge, again)
	}
	for _, got := range []obj{w.ok("GET", "/v1/edges?entity=payments", nil),
		w.ok("POST", "/v1/graph", obj{"action": "query", "entity": "Alice"}),
		w.ok("GET", "/v1/edges?entity=alice", nil), w.ok("POST", "/v1/graph", obj{"entity": "ALICE"})} { // names match in any case
		if e := got["edges"].([]any); len(e) != 1 || keys(e[0]) != "dst edge_id rel_type src weight" || e[0].(obj)["weight"] != 0.5 {
			t.Errorf("edges: %v", got)
		}
	}
	w.ok("POST", "/v1/claim", obj{"src": "Alice", "rel_type": "born_in", "dst": "Oslo", "polarity": -1, "extractor": "court"})
	claims := w.ok("GET", "/v1/claims?entity=oslo&namespace=default", nil)["claims"].([]any)
	const want = "claim_id confidence_band created_at dst extractor modality namespace polarity rel_type source_memory_rid src status_suggestion valid_from valid_to weight"
	if len(claims) != 1 || keys(claims[0]) != want || claims[0].(obj)["status_suggestion"] != "negative" {
		t.Errorf("claims: %v", claims)
	}
	if got := w.ok("GET", "/v1/entities/aLICE", nil)["entity"]; got != "Alice" {
		t.Errorf("aLICE is %v", got)
	}
	w.ok("POST", "/v1/relate", obj{"entity": "ALICE", "target": "a ship", "relationship": "names"})
	for name, want := range map[string]int{"Alice": 1, "ALICE": 1, "alice": 2} { // two names that differ only in case: each matches itself, and any other case matches both
		if got := w.ok("GET", "/v1/edges?entity="+name, nil)["edges"].([]any); len(got) != want {
			t.Errorf("edges of %s: %v, want %d", name, got, want)
		}
	}
	if got := w.ok("POST", "/v1/alias", obj{"alias": "Al", "canonical_name": "Alice"}); got["added"] != true ||
		keys(got) != "added alias canonical_name namespace" {
		t.Errorf("alias: %v", got)
	}
	id := w.ok("POST", "/v1/sessions", obj{})["session_id"].(string)
	if status, got := w.send("POST", "/v1/sessions", obj{}); status != http.StatusConflict {
		t.Errorf("a second session: %d %v", status, got)
	}
	w.ok("POST", "/v1/remember", obj{"text": "said in the session"})
	if got := w.ok("GET", "/v1/sessions/"+id, nil); len(got["memories"].([]any)) != 1 {
		t.Errorf("session: %v", got)
	}
	end := w.ok("DELETE", "/v1/sessions/"+id, nil)
	if keys(end) != "duration_secs memory_count session_id topics" || end["memory_count"] != 1.0 {
		t.Errorf("end: %v", end)
	}
}

// TestGatewayRefusals checks the status and the message, which clients know, for each kind of invalid request.
func TestGatewayRefusals(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Surfaces.ForwardWrites = 1000, new(false)
	})
	l := c.leader()
	w := c.web(l)
	refused := func(w *web, method, path string, body any, status int, text string) {
		t.Helper()
		got, out := w.send(method, path, body)
		if s, _ := out["error"].(string); got != status || text != "" && !strings.Contains(s, text) {
			t.Errorf("%s %s: %d %v, want %d %q", method, path, got, out, status, text)
		}
	}
	refused(w, "POST", "/v1/remember", obj{"metadata": obj{}}, 400, "missing 'text'")
	refused(w, "POST", "/v1/remember", obj{"text": 7}, 400, "text: want a string, got 7")
	refused(w, "POST", "/v1/remember", `{"text":`, 400, "not a JSON object")
	refused(w, "POST", "/v1/remember", `[]`, 400, "not a JSON object")
	refused(w, "POST", "/v1/remember", obj{"text": "x", "idempotency_key": " "}, 400, "idempotency_key")
	refused(w, "POST", "/v1/remember", obj{"text": strings.Repeat("x", engine.MaxText+1)}, 413, "over")
	refused(w, "POST", "/v1/remember/batch", obj{"memories": []obj{{"text": "a"}, {}}}, 400, "memories[1]: missing 'text'")
	refused(w, "POST", "/v1/remember/batch", obj{}, 400, "missing 'memories' array")
	refused(w, "POST", "/v1/recall", obj{}, 400, "missing 'query'")
	refused(w, "POST", "/v1/recall", obj{"query": "x", "min_index": 1 << 40}, 412, "replica behind")
	refused(w, "POST", "/v1/forget", obj{}, 400, "missing 'rid'")
	refused(w, "POST", "/v1/correct", obj{"rid": "x", "reason": " "}, 400, "missing 'reason'")
	refused(w, "POST", "/v1/correct", obj{"rid": "x", "reason": "y"}, 404, "")
	refused(w, "GET", "/v1/memory/none", nil, 404, "")
	refused(w, "GET", "/v1/claims", nil, 400, "missing 'entity' query parameter")
	refused(w, "POST", "/v1/relate", obj{"entity": "a", "target": "b"}, 400, "missing 'relationship'")
	refused(w, "DELETE", "/v1/sessions/none", nil, 404, "")
	refused(w, "POST", "/v1/databases", obj{"name": "default"}, 409, "database 'default' already exists")
	refused(w, "GET", "/v1/nothing", nil, 404, "")
	refused(w, "PUT", "/v1/remember", obj{"text": "x"}, 405, "")
	w.ok("POST", "/v1/remember", obj{"text": "with a vector", "embedding": []float64{1, 0}})
	refused(w, "POST", "/v1/remember", obj{"text": "x", "embedding": []float64{1, 0, 0}}, 400, "3 dimensions")

	refused(&web{t, w.base, ""}, "POST", "/v1/recall", obj{"query": "x"}, 401, "missing Bearer token")
	refused(&web{t, w.base, "wrong"}, "POST", "/v1/recall", obj{"query": "x"}, 401, "invalid or revoked token")
	reader := w.ok("POST", "/v1/admin/tokens", obj{"database": "default", "scopes": []string{"read"}})["token"].(string)
	refused(&web{t, w.base, reader}, "POST", "/v1/remember", obj{"text": "x"}, 403, "no write scope")
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": reader})
	refused(&web{t, w.base, reader}, "POST", "/v1/recall", obj{"query": "x"}, 401, "invalid or revoked token")

	follower := c.web((l + 1) % 3)
	var status int
	var out obj
	suite.Eventually(t, "the follower knows the leader's gateway", func() bool { // the node may be behind
		status, out = (&web{t, follower.base, ""}).send("POST", "/v1/remember", obj{"text": "x"})
		return out["leader_addr"] != nil
	})
	if status != 307 || out["leader"] != float64(l+1) || out["leader_addr"] != w.base || out["code"] != "not_leader" ||
		out["error"] != fmt.Sprintf("read-only: not the leader (current leader: node %d)", l+1) {
		t.Errorf("a follower: %d %v", status, out)
	}
	var h obj
	suite.Eventually(t, "health names the leader", func() bool {
		h = w.ok("GET", "/v1/health", nil)["cluster"].(obj)
		return h["accepts_writes"] == true && h["role"] == "Leader"
	})
	for _, path := range []string{"/v1/health/deep", "/v1/health/ready"} {
		w.ok("GET", path, nil)
	}
}

func TestGatewayEvents(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	before := w.ok("POST", "/v1/remember", obj{"text": "before"})["log_index"].(string)
	w.ok("POST", "/v1/remember", obj{"text": "after"})
	listen := func(from string) *bufio.Scanner {
		req, err := http.NewRequestWithContext(t.Context(), "GET", w.base+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Last-Event-ID", from)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
			t.Errorf("content type %q", ct)
		}
		return bufio.NewScanner(resp.Body)
	}
	await := func(in *bufio.Scanner, want string) {
		t.Helper()
		for in.Scan() {
			if in.Text() == want {
				return
			}
		}
		t.Fatalf("no %q: %v", want, in.Err())
	}
	in := listen(before)
	await(in, "event: subscribed")
	await(in, "event: stored")
	w.ok("POST", "/v1/relate", obj{"entity": "a", "target": "b", "relationship": "c"})
	await(in, "event: related")
	w.ok("POST", "/v1/remember", obj{"text": "live"})
	await(in, "event: stored")
}

func TestGatewayDescribesItself(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	doc := w.ok("GET", "/openapi.json", nil)
	paths := doc["paths"].(obj)
	if doc["openapi"] != "3.1.0" || len(paths) < 30 {
		t.Errorf("%v with %d paths", doc["openapi"], len(paths))
	}
	for path, methods := range paths {
		for method := range methods.(obj) { // every line of the document is served
			p := strings.NewReplacer("{rid}", "x", "{id}", "x", "{name}", "x", "{verb}", "x").Replace(path)
			if path == "/v1/events" {
				continue // the body does not end
			}
			status, _ := (&web{t, w.base, ""}).send(strings.ToUpper(method), p, nil)
			if status == 404 || status == 405 {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
	for _, path := range []string{"/docs", "/metrics"} {
		resp, err := http.Get(w.base + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 ||
			!bytes.Contains(b, []byte(map[string]string{"/docs": "/v1/recall", "/metrics": "cairn_applied_index"}[path])) {
			t.Errorf("%s: %d, %v", path, resp.StatusCode, err)
		}
	}
}

// TestGatewayFromPython runs a client that uses only Python's standard library.
func TestGatewayFromPython(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	c := startWith(t, 3, refuse)
	w, follower := c.web(c.leader()), c.web((c.leader()+1)%3)
	suite.Eventually(t, "the follower knows the leader's gateway", func() bool {
		_, out := follower.send("POST", "/v1/remember", obj{})
		return out["leader_addr"] == w.base
	})
	ctx := suite.Context(t)
	if out, err := exec.CommandContext(ctx, "python3", "testdata/sdk.py", w.token, w.base, follower.base).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
