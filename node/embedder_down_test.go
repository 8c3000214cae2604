package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// embedServer is an embedding server whose behaviour the test sets. Its vectors distinguish two meanings: water, and
// everything else.
type embedServer struct {
	mu    sync.Mutex
	how   string // well, hangs, slow, fails, rejects
	asked int
}

func (e *embedServer) setBehaviour(how string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.how = how
}

func (e *embedServer) questions() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

func (e *embedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	how := e.how
	e.asked++
	e.mu.Unlock()
	switch how {
	case "hangs":
		<-r.Context().Done()
		return
	case "slow":
		select {
		case <-time.After(600 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	case "fails":
		http.Error(w, "no", http.StatusInternalServerError)
		return
	case "refuses":
		for _, text := range req.Input {
			if strings.Contains(text, "unpalatable") {
				http.Error(w, "no", http.StatusBadRequest)
				return
			}
		}
	}
	vecs := make([][]float32, len(req.Input))
	for i, text := range req.Input {
		vecs[i] = make([]float32, 8)
		vecs[i][1] = 1
		for _, wet := range []string{"river", "lake", "ocean", "pond"} {
			if strings.Contains(text, wet) {
				vecs[i][0], vecs[i][1] = 1, 0
			}
		}
	}
	json.NewEncoder(w).Encode(obj{"embeddings": vecs}) // the client may have left
}

// TestEmbedderInTrouble checks that writes are stored at once whatever the embedding server does, and that the
// vectors follow when it works again, so that recall by meaning finds them.
func TestEmbedderInTrouble(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	server := &embedServer{how: "well"}
	listens := httptest.NewServer(server)
	t.Cleanup(listens.Close)
	e, err := embed.NewHTTP(embed.Config{URL: listens.URL + "/api/embed", Model: "m", Dim: 8})
	if err != nil {
		t.Fatal(err)
	}
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Embedder, cfg.Background.Embed = e, 20*time.Millisecond
	})
	w := c.web(0)
	remember := func(text string) (took time.Duration) {
		t.Helper()
		start := time.Now()
		w.ok("POST", "/v1/remember", obj{"text": text})
		return time.Since(start)
	}
	state := func() obj {
		t.Helper()
		return w.ok("GET", "/v1/admin/databases/default/embedding", nil)
	}
	whole := func() bool { return state()["missing"] == 0. }
	// by meaning: the question shares no word with the answer
	means := func(rest string) bool {
		t.Helper()
		out := w.ok("POST", "/v1/recall", obj{"query": "ocean", "top_k": 1000, "skip_reinforce": true, "explain": true})
		for _, row := range out["results"].([]any) {
			if strings.Contains(row.(obj)["text"].(string), rest) {
				return row.(obj)["parts"].(obj)["vector"].(float64) > .9
			}
		}
		return false
	}
	remember("the river is cold")
	if !whole() || !means("river is cold") {
		t.Fatalf("an embedder that works: %v", state())
	}
	stored := 1.
	for _, how := range []string{"hangs", "slow", "fails"} {
		server.setBehaviour(how)
		var slowest time.Duration
		fastest := time.Minute
		for i := range 8 {
			took := remember(fmt.Sprintf("pond %s%d", how, i))
			slowest = max(slowest, took)
			if i < 3 { // the first three wait for the embedder; later ones do not
				fastest = min(fastest, took)
			}
			stored++
		}
		if fastest > time.Second {
			t.Errorf("%s: every write waits %s", how, fastest)
		}
		if slowest > 5*time.Second { // a deadline of 250 ms, on a busy machine
			t.Errorf("%s: a write took %s", how, slowest)
		}
		if how != "slow" {
			suite.Eventually(t, how+": told to be down", func() bool { return state()["up"] == false })
		}
		at := state()
		if at["of"] != stored || at["done"].(float64) > stored || at["done"].(float64)+at["missing"].(float64) != stored {
			t.Errorf("%s: %v, stored %v", how, at, stored)
		}
		if how != "slow" {
			if at["missing"] != 8. || at["up"] != false || at["last_error"] == nil {
				t.Errorf("%s: %v", how, at)
			}
			st := w.ok("GET", "/v1/cluster", nil)["embedder"].(obj)
			if st["queue"] != 8. || st["up"] != false || st["last_error"] == nil ||
				strings.Contains(st["last_error"].(string), "127.0.0.1") {
				t.Errorf("%s: status says %v", how, st)
			}
			deep := w.ok("GET", "/v1/health/deep", nil)
			if last := deep["checks"].([]any)[len(deep["checks"].([]any))-1].(obj); last["check"] != "embedder" || last["pass"] != false ||
				last["queue"] != 8. {
				t.Errorf("%s: deep health says %v", how, last)
			}
			metrics := w.metrics()
			for _, line := range []string{"cairn_embedder_up 0", `cairn_memories_without_vector{db="default"} 8`} {
				if !strings.Contains(metrics, line+"\n") {
					t.Errorf("%s: no metric %q", how, line)
				}
			}
			if means("pond " + how + "0") {
				t.Errorf("%s: found by a meaning it cannot have", how)
			}
			server.setBehaviour("well")
			listens.CloseClientConnections() // like a restart
		} // a slow server is fast enough for the background
		suite.Eventually(t, how+": every memory has its vector", whole)
		suite.Eventually(t, how+": found by meaning", func() bool { return means("pond " + how + "7") })
		server.setBehaviour("well")
		suite.Eventually(t, how+": up again", func() bool { return state()["up"] == true })
	}
	asked := server.questions()
	for range 10 {
		if !means("river is cold") {
			t.Fatal("not found")
		}
	}
	if n := server.questions() - asked; n > 1 {
		t.Errorf("the same question was embedded %d times", n)
	}
	// A text that the server rejects keeps no other from its vector.
	server.setBehaviour("refuses")
	out := w.ok("POST", "/v1/remember/batch", obj{"memories": []any{obj{"text": "an unpalatable lake"}, obj{"text": "a lake of milk"}}})
	if out["count"] != 2. {
		t.Errorf("%v", out)
	}
	suite.Eventually(t, "the text beside a refused one has its vector",
		func() bool { return means("lake of milk") && state()["missing"] == 1. })
	if at := state(); at["up"] != true {
		t.Errorf("an embedder that refuses one text is told to be down: %v", at)
	}
}

// metrics returns the page that Prometheus scrapes.
func (w *web) metrics() string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", w.base+"/metrics", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body)
}
