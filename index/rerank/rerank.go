// Package rerank asks a server to order texts by how well they answer a question, in the request formats that rerankers
// share:
//
//	{"query": …, "texts": […]}                    → [{"index": 0, "score": .9}, …]                        Text Embeddings Inference
//	{"model": …, "query": …, "documents": […]}    → {"results": [{"index": 0, "relevance_score": .9}, …]}  llama.cpp, vLLM, Jina, Cohere
//
// The first is sent when no model is named; llama.cpp accepts both. Either answer is read. A question waits for
// Config.Wait at most, and for a while after some failures in a row not at all. Without an answer the order stays.
package rerank

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairndb/cairn/index/breaker"
	"github.com/cairndb/cairn/index/modelserver"
)

// Depth is the number of first texts that are reordered.
const Depth = 50

const (
	maxText  = 4 << 10 // bytes of a question or a text that are sent
	maxReply = 1 << 20 // bytes of an answer
	wait     = 500 * time.Millisecond
	maxWait  = 10 * time.Second
)

// Config names the server. Without a URL there is no reranker.
type Config struct {
	URL   string        // up to and with /rerank or /v1/rerank
	Model string        // its name there; none for a server of one model
	Key   string        // bearer token, if any
	Wait  time.Duration // for an answer; 0: 500ms
}

// A Reranker may be used from any number of goroutines.
type Reranker struct {
	server  *modelserver.Server
	model   string
	wait    time.Duration
	breaker breaker.Breaker
}

// New makes the reranker; nil without a URL.
func New(c Config) (*Reranker, error) {
	if c.URL == "" {
		return nil, nil
	}
	server, _, err := modelserver.New("reranker", c.URL, c.Key, maxWait)
	if err != nil {
		return nil, err
	}
	r := &Reranker{server: server, model: c.Model, wait: cmp.Or(c.Wait, wait)}
	if r.wait < 0 || r.wait > maxWait {
		return nil, fmt.Errorf("reranker: wait of %s: want at most %s", c.Wait, maxWait)
	}
	return r, nil
}

// State returns the server's health.
func (r *Reranker) State() breaker.State { return r.breaker.State() }

type question struct {
	Query     string   `json:"query"`
	Model     string   `json:"model,omitempty"`
	Texts     []string `json:"texts,omitempty"`
	Documents []string `json:"documents,omitempty"`
	Truncate  bool     `json:"truncate,omitempty"`
	Top       int      `json:"top_n,omitempty"`
}

// A score is the entry of one text in an answer; servers write the number under either name.
type score struct {
	Index     *int     `json:"index"`
	Score     *float64 `json:"score"`
	Relevance *float64 `json:"relevance_score"`
}

// scores are an answer: a list, or an object with one.
type scores []score

func (s *scores) UnmarshalJSON(raw []byte) error {
	var list []score
	if json.Unmarshal(raw, &list) == nil {
		*s = list
		return nil
	}
	var object struct {
		Results []score `json:"results"`
	}
	err := json.Unmarshal(raw, &object)
	*s = object.Results
	return err
}

// Scores returns how well each text answers a question, on the server's own scale; higher is better.
func (r *Reranker) Scores(ctx context.Context, query string, texts []string) ([]float64, error) {
	probe, err := r.breaker.Admit(r.wait)
	if err != nil {
		return nil, fmt.Errorf("the reranker %w", err)
	}
	start := time.Now()
	// A caller that gives up must not count as a failure of the server.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.wait)
	defer cancel()
	out, err := r.ask(waiting, query, texts)
	late := errors.Is(err, context.DeadlineExceeded)
	if late {
		err = fmt.Errorf("reranker: no answer within %s", r.wait)
	}
	failed := err
	if errors.Is(err, modelserver.ErrRefused) { // the server works
		failed = nil
	}
	r.breaker.Note(probe, failed, r.wait, late, time.Since(start))
	return out, err
}

func (r *Reranker) ask(ctx context.Context, query string, texts []string) ([]float64, error) {
	q := question{Query: modelserver.Cut(query, maxText), Model: r.model}
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = modelserver.Cut(t, maxText)
	}
	if r.model == "" {
		q.Texts, q.Truncate = list, true
	} else {
		q.Documents, q.Top = list, len(list)
	}
	var answer scores
	if _, err := r.server.Post(ctx, &q, &answer, maxReply); err != nil {
		return nil, err
	}
	return answer.order(len(texts))
}

// order puts an answer's scores in the order of the texts. It is an error unless each text has one.
func (s scores) order(n int) ([]float64, error) {
	if len(s) != n {
		return nil, fmt.Errorf("reranker: %d scores for %d texts", len(s), n)
	}
	out, seen := make([]float64, n), make([]bool, n)
	for _, a := range s {
		value := cmp.Or(a.Score, a.Relevance)
		if a.Index == nil || *a.Index < 0 || *a.Index >= n || seen[*a.Index] || value == nil || math.IsNaN(*value) ||
			math.IsInf(*value, 0) {
			return nil, errors.New("reranker: a score for a text that was not sent, or a text without a score")
		}
		out[*a.Index], seen[*a.Index] = *value, true
	}
	return out, nil
}
