package embed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/index/breaker"
	"github.com/cairndb/cairn/index/modelserver"
)

// guardBatch is the number of texts in one call of an embedder.
const guardBatch = 64

// A Guard calls an embedder through a circuit breaker. Every call has its own deadline, which the end of the caller's
// context does not shorten. All calls share one breaker: an embedder that is too slow for writes still serves the
// background, whose deadlines are long.
type Guard struct {
	embedder     Embedder
	answers      answers
	breaker      breaker.Breaker
	asked, known atomic.Uint64
}

// State is an embedder's health.
type State struct {
	breaker.State
	Asked uint64 // questions
	Known uint64 // of those, answered from the cache
}

// NewGuard returns the guard of an embedder.
func NewGuard(e Embedder) *Guard { return &Guard{embedder: e} }

// Identity returns the embedder's identity.
func (g *Guard) Identity() Identity { return g.embedder.Identity() }

// State returns the embedder's health.
func (g *Guard) State() State {
	return State{g.breaker.State(), g.asked.Load(), g.known.Load()}
}

// Embed returns a vector for each text as Embedder does, as far as the time allows. The other texts have none, and
// err says why.
func (g *Guard) Embed(ctx context.Context, timeout time.Duration, texts []string) ([][]float32, error) {
	return g.embed(ctx, timeout, texts, g.embedder.Embed)
}

func (g *Guard) embed(ctx context.Context, timeout time.Duration, texts []string, f func(context.Context, []string) ([][]float32, error)) (vecs [][]float32, err error) {
	vecs = make([][]float32, len(texts))
	probe, err := g.breaker.Admit(timeout)
	if err != nil {
		return vecs, fmt.Errorf("the embedder %w", err)
	}
	// A caller that gives up must not count as a failure of the embedder.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	for at := 0; at < len(texts); at += guardBatch {
		start := time.Now()
		vectors, err := f(ctx, texts[at:min(at+guardBatch, len(texts))])
		if err == nil && len(vectors) != min(guardBatch, len(texts)-at) {
			err = fmt.Errorf("embedder: %d vectors for %d texts", len(vectors), min(guardBatch, len(texts)-at))
		}
		late := errors.Is(err, context.DeadlineExceeded)
		if late {
			err = fmt.Errorf("embedder: no answer within %s", timeout)
		}
		if err == nil || !late || at == 0 { // a later part may be late because little time was left
			failed := err
			if errors.Is(err, modelserver.ErrRefused) { // the embedder works
				failed = nil
			}
			g.breaker.Note(probe, failed, timeout, late, time.Since(start))
			probe = false
		}
		if err != nil {
			return vecs, err
		}
		copy(vecs[at:], vectors)
	}
	return vecs, nil
}

// Question returns the vector of a question, from the cache when it was asked before.
func (g *Guard) Question(ctx context.Context, timeout time.Duration, text string) ([]float32, error) {
	g.asked.Add(1)
	if vec, ok := g.answers.get(text); ok {
		g.known.Add(1)
		return vec, nil
	}
	embed := g.embedder.Embed
	if q, ok := g.embedder.(Questioner); ok {
		embed = q.EmbedQuestions
	}
	vecs, err := g.embed(ctx, timeout, []string{text}, embed)
	if err != nil {
		return nil, err
	}
	g.answers.put(text, vecs[0])
	return vecs[0], nil
}
