package rerank

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/breaker"
	"github.com/cairndb/cairn/index/modelserver"
)

// serve starts a server whose response body may depend on the request.
func serve(t *testing.T, answer func(w http.ResponseWriter, q question)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost ||
			r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		answer(w, q)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/rerank"
}

// lengths scores texts by their length, the last first.
func lengths(texts []string, name string) (list []map[string]any) {
	for i, text := range slices.Backward(texts) {
		list = append(list, map[string]any{"index": i, name: float64(len(text))})
	}
	return list
}

func TestScores(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, q question) {
		var v any
		switch {
		case q.Query != "who?":
			http.Error(w, "another question", http.StatusTeapot)
			return
		case q.Model == "" && q.Truncate && q.Documents == nil:
			v = lengths(q.Texts, "score")
		case q.Model == "m" && q.Top == len(q.Documents) && q.Texts == nil:
			v = map[string]any{"model": "m", "results": lengths(q.Documents, "relevance_score"), "usage": map[string]int{"total_tokens": 3}}
		}
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	})
	for _, model := range []string{"", "m"} {
		r, err := New(Config{URL: url, Model: model, Key: "key", Wait: maxWait})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Scores(t.Context(), "who?", []string{"a", "", "ccc", strings.Repeat("ä", maxText)})
		if want := []float64{1, 1, 3, maxText}; err != nil || !slices.Equal(got, want) {
			t.Errorf("model %q: %v, %v, want %v", model, got, err, want)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	var body atomic.Value
	url := serve(t, func(w http.ResponseWriter, _ question) { fmt.Fprint(w, body.Load()) })
	for _, answer := range []string{`[]`, `{}`, `null`, `7`, `[{"index":0,"score":1}]`,
		`[{"index":0,"score":1},{"index":0,"score":1}]`, `[{"index":0,"score":1},{"index":2,"score":1}]`,
		`[{"index":0,"score":1},{"index":-1,"score":1}]`, `[{"index":0,"score":1},{"score":1}]`,
		`[{"index":0,"score":1},{"index":1}]`, `[{"index":0,"score":1},{"index":1,"score":1e999}]`,
		`{"results":[{"index":0,"relevance_score":1},{"index":1}]}`, strings.Repeat(" ", maxReply+1)} {
		r, err := New(Config{URL: url, Key: "key", Wait: maxWait})
		if err != nil {
			t.Fatal(err)
		}
		body.Store(answer)
		if got, err := r.Scores(t.Context(), "who?", []string{"a", "b"}); err == nil {
			t.Errorf("%.80s: %v", answer, got)
		}
	}
}

// TestHangs: a server that does not answer delays three questions, and none after that.
func TestHangs(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	url := serve(t, func(http.ResponseWriter, question) { <-done })
	defer close(done)
	r, err := New(Config{URL: url, Key: "key", Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for range breaker.Failures {
		if _, err := r.Scores(t.Context(), "who?", []string{"a"}); err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
			t.Errorf("it hangs: %v", err)
		}
	}
	if _, err := r.Scores(t.Context(), "who?", []string{"a"}); !errors.Is(err, breaker.ErrResting) || !r.State().Down {
		t.Errorf("it has hung: %v, %+v", err, r.State())
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ question) { http.Error(w, "too long", http.StatusRequestEntityTooLarge) })
	r, err := New(Config{URL: url, Key: "key", Wait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Scores(t.Context(), "who?", []string{"a"}); !errors.Is(err, modelserver.ErrRefused) || r.State().Down {
		t.Errorf("refused: %v, %+v", err, r.State())
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if r, err := New(Config{Model: "m"}); r != nil || err != nil {
		t.Errorf("without a url: %v, %v", r, err)
	}
	for _, c := range []Config{{URL: "ftp://x/rerank"}, {URL: "http://x/rerank", Wait: time.Minute}, {URL: "http://x/rerank", Wait: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func FuzzScores(f *testing.F) {
	f.Add([]byte(`[{"index":1,"score":1},{"index":0,"score":2}]`))
	f.Add([]byte(`{"results":[{"index":1,"relevance_score":1},{"index":0,"relevance_score":2}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s scores
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		if out, err := s.order(2); err == nil && len(out) != 2 {
			t.Fatalf("%v", out)
		}
	})
}
