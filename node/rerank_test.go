package node_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
)

// TestRerank checks that answers have the reranker's order, over HTTP and over the wire, and the original order if
// the reranker fails.
func TestRerank(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	var asked atomic.Int64
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Query string   `json:"query"`
			Texts []string `json:"texts"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked.Store(int64(len(q.Texts)))
		if hangs.Load() {
			<-done
			return
		}
		var out []map[string]any
		for i, text := range q.Texts { // the text with most digits first
			out = append(out, map[string]any{"index": i, "score": float64(strings.Count(text, "7"))})
		}
		if err := json.NewEncoder(w).Encode(out); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) }) // before the server's end, which waits for its requests
	r, err := rerank.New(rerank.Config{URL: server.URL + "/rerank", Wait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Reranker = r })
	w := c.web(0)
	for _, text := range []string{"cello cello cello", "cello and cello again 7", "a cello 77",
		"one cello, in a long sentence that says little 777", "the piano 7777"} {
		w.ok("POST", "/v1/remember", obj{"text": text})
	}
	recall := func(more obj) (texts []string, out obj) {
		t.Helper()
		q := obj{"query": "cello", "top_k": 3, "skip_reinforce": true, "explain": true}
		for k, v := range more {
			q[k] = v
		}
		out = w.ok("POST", "/v1/recall", q)
		last := 1e9
		for _, row := range out["results"].([]any) {
			texts = append(texts, row.(obj)["text"].(string))
			if score := row.(obj)["score"].(float64); score > last {
				t.Errorf("a score of %g behind %g", score, last)
			} else {
				last = score
			}
		}
		return texts, out
	}
	place := func(out obj, i int) any { return out["results"].([]any)[i].(obj)["reranked"] }

	first, plain := recall(obj{"without": []string{"rerank"}})
	if place(plain, 0) != nil || asked.Load() != 0 || len(first) != 3 || strings.Contains(first[0], "777") {
		t.Fatalf("without the reranker: %v, %v, %d texts asked", first, place(plain, 0), asked.Load())
	}
	if got, out := recall(nil); len(got) != 3 || !strings.HasSuffix(got[0], " 777") || !strings.HasSuffix(got[1], " 77") {
		t.Errorf("reranked: %v", got)
	} else if p := place(out, 0).(obj); p["score"] != 3. || p["place"].(float64) < 2 || asked.Load() != 4 {
		t.Errorf("explained: %v of %d texts", p, asked.Load())
	}
	q := wire.NewRecall("cello")
	q.TopK, q.SkipReinforce = 3, true
	rows, _, err := c.dial(0).Recall(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || !strings.HasSuffix(rows[0].Text, " 777") {
		t.Errorf("over the wire: %+v", rows)
	}

	asked.Store(0)
	if got, _ := recall(obj{"query": " \n"}); asked.Load() != 0 || len(got) != 3 || got[0] != "the piano 7777" {
		t.Errorf("a blank question, which lists the newest: %v, %d texts asked", got, asked.Load())
	}

	hangs.Store(true)
	if got, out := recall(nil); !slices.Equal(got, first) || place(out, 0) != nil {
		t.Errorf("while it hangs: %v, %v, want %v", got, place(out, 0), first)
	}
	if m := w.metrics(); !strings.Contains(m, "cairn_reranker_up 0") || !strings.Contains(m, "cairn_reranker_failures_total 1") {
		t.Error("the metrics do not say that it hangs")
	}
}
