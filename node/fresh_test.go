package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestEveryReadWaitsForAnIndex calls every read operation with a future min_index, over HTTP and over the wire. None
// answers with less, whatever else the request says about freshness.
func TestEveryReadWaitsForAnIndex(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	const later = 1 << 40
	asked := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup // each waits for a moment
	for _, op := range api.Ops {
		if _, wants := op.New().(interface{ Wanted() api.Fresh }); !wants || op.HTTP == "" {
			continue
		}
		all.Go(func() {
			body := arguments(op.InBody())
			url := operation{path: op.Path()}.url()
			if op.Method() == http.MethodGet {
				url += "?min_index=" + fmt.Sprint(later)
				for _, f := range op.InQuery() {
					if f.Must {
						url += "&" + f.Name + "=2026-01-01"
					}
				}
			} else {
				body["min_index"] = later
				for _, f := range op.InBody() {
					if f.Must && f.Name == "as_of" {
						body[f.Name] = "2026-01-01"
					}
				}
			}
			if status, out := w.send(op.Method(), url, body); status != http.StatusPreconditionFailed || out["code"] != "replica_behind" ||
				out["log_end"] == nil {
				t.Errorf("%s over HTTP: %d %v", op.Name, status, out)
			}
			mu.Lock()
			defer mu.Unlock()
			asked[op.Name] = true
		})
	}
	all.Go(func() {
		if status, out := w.send("GET", fmt.Sprintf("/v1/stats?consistency=linearizable&min_index=%d", later),
			nil); status != http.StatusPreconditionFailed || out["code"] != "replica_behind" || out["log_end"] == nil {
			t.Errorf("linearizable, and at an index: %d %v", status, out)
		}
	})
	fresh := wire.Fresh{MinIndex: later}
	for op, m := range map[wire.Op]wire.Message{wire.OpConflicts: &wire.Conflicts{Fresh: fresh},
		wire.OpEdges: &wire.Entity{Entity: "a", Fresh: fresh}, wire.OpClaims: &wire.Claims{Entity: "a", Fresh: fresh},
		wire.OpPersonality: &fresh, wire.OpStats: &fresh, wire.OpListDB: &fresh, wire.OpRecall: &wire.Recall{Query: "a", MinIndex: later},
		wire.OpOperation: &wire.Operation{Name: "memories", Request: wire.JSON(fmt.Sprintf(`{"min_index":%d}`, later))}} {
		all.Go(func() {
			if said := refusal(t, c.nodes[0].Addrs().Wire, secret, op, m); !strings.Contains(said, "has not reached") &&
				!strings.Contains(said, "behind") {
				t.Errorf("%s over the wire: %q", op, said)
			}
		})
	}
	all.Wait()
	for _, name := range []string{"memories", "records", "namespaces", "conflicts", "sessions", "session", "stats", "digest",
		"graph", "export", "tokens", "databases"} {
		if !asked[name] {
			t.Errorf("%s takes no index", name)
		}
	}
}

// caughtUp repeats a request until the node has reached its index, which takes a busy machine seconds.
func (w *web) caughtUp(path string) (out obj) {
	w.t.Helper()
	suite.Eventually(w.t, "an answer that is as new as asked", func() bool {
		var status int
		status, out = w.send("GET", path, nil)
		if status != http.StatusOK && out["code"] != "replica_behind" {
			w.t.Fatalf("GET %s: %d %v", path, status, out)
		}
		return status == http.StatusOK
	})
	return out
}

// TestListsReadTheirWrites checks that a follower's lists contain a write on the leader for a client that sends the
// write's index.
func TestListsReadTheirWrites(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	lead := c.leader()
	w, follower := c.web(lead), c.web((lead+1)%3)
	for i := range 60 {
		ns := fmt.Sprintf("n%d", i)
		at := w.ok("POST", "/v1/remember", obj{"text": "one", "namespace": ns})["log_index"]
		min := fmt.Sprintf("min_index=%s", at)
		if got := follower.caughtUp("/v1/memories?namespace=" + ns + "&" + min); got["total"] != 1.0 || len(got["items"].([]any)) != 1 {
			t.Fatalf("write %d is not in the list: %v", i, got)
		}
		if got := follower.caughtUp("/v1/stats?namespace=" + ns + "&" + min); got["active_memories"] != 1.0 {
			t.Fatalf("write %d is not counted: %v", i, got)
		}
	}
}
