package embed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// How a Guard treats its embedder.
const (
	guardBatch    = 64              // texts of one call
	guardFailures = 3               // in a row, after which
	guardRest     = 3 * time.Second // for this long calls are refused whose deadline is no longer than those that failed; then one tries
)

// ErrResting is returned without asking an embedder that failed lately.
var ErrResting = errors.New("the embedder failed or was too slow lately; it is tried again in a moment")

// ErrRefused is returned when a working embedder refuses a text: trying again cannot help.
var ErrRefused = errors.New("texts refused")

// A Guard is the circuit breaker before an embedder. Every call has a deadline of its own, which the end of the caller's context does
// not shorten, and all calls share one breaker: after guardFailures in a row it refuses at once a call whose deadline is no longer
// than those that failed. So an embedder that is too slow for writes still serves the background, whose deadlines are long.
type Guard struct {
	embedder Embedder
	answers  answers

	mu       sync.Mutex
	failures int           // in a row
	slower   time.Duration // the longest deadline that was missed in this row of failures; forever after an error
	until    time.Time     // calls are refused before it
	probing  bool          // one call is trying whether the embedder works again
	state    State
}

const forever = time.Duration(1<<63 - 1)

// State is an embedder's health.
type State struct {
	Up        bool      // the last call was answered
	Failures  uint64    // calls that failed, since the start
	LastError string    // of the newest failure; it holds no text
	ErrorAt   time.Time // zero: none failed
	Asked     uint64    // questions
	Known     uint64    // of those, answered from the cache
}

// NewGuard returns the guard of an embedder.
func NewGuard(e Embedder) *Guard { return &Guard{embedder: e, state: State{Up: true}} }

// Identity returns the embedder's identity.
func (g *Guard) Identity() Identity { return g.embedder.Identity() }

// State returns the embedder's health.
func (g *Guard) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// Embed returns a vector a text as Embedder does, for as many texts as there is time for. The other ones have none, and err says why.
func (g *Guard) Embed(ctx context.Context, patience time.Duration, texts []string) ([][]float32, error) {
	return g.embed(ctx, patience, texts, g.embedder.Embed)
}

func (g *Guard) embed(ctx context.Context, patience time.Duration, texts []string, f func(context.Context, []string) ([][]float32, error)) (vecs [][]float32, err error) {
	vecs = make([][]float32, len(texts))
	probe, err := g.admit(patience)
	if err != nil {
		return vecs, err
	}
	// A caller that goes away says nothing about the embedder, so its context must not end the call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for at := 0; at < len(texts); at += guardBatch {
		start := time.Now()
		part, err := f(ctx, texts[at:min(at+guardBatch, len(texts))])
		if err == nil && len(part) != min(guardBatch, len(texts)-at) {
			err = fmt.Errorf("embedder: %d vectors for %d texts", len(part), min(guardBatch, len(texts)-at))
		}
		late := errors.Is(err, context.DeadlineExceeded)
		if late {
			err = fmt.Errorf("embedder: no answer within %s", patience)
		}
		if err == nil || !late || at == 0 { // a later part that is late had little time left
			g.note(probe, err, patience, late, time.Since(start))
			probe = false
		}
		if err != nil {
			return vecs, err
		}
		copy(vecs[at:], part)
	}
	return vecs, nil
}

// Question returns the vector of a question, from the cache when it was asked before.
func (g *Guard) Question(ctx context.Context, patience time.Duration, text string) ([]float32, error) {
	vec, ok := g.answers.get(text)
	g.mu.Lock()
	g.state.Asked++
	if ok {
		g.state.Known++
	}
	g.mu.Unlock()
	if ok {
		return vec, nil
	}
	embed := g.embedder.Embed
	if q, ok := g.embedder.(Questioner); ok {
		embed = q.EmbedQuestions
	}
	vecs, err := g.embed(ctx, patience, []string{text}, embed)
	if err != nil {
		return nil, err
	}
	g.answers.put(text, vecs[0])
	return vecs[0], nil
}

// admit refuses a call that would wait in vain. probe reports that this call is the one that tries after a rest.
func (g *Guard) admit(patience time.Duration) (probe bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures < guardFailures || patience > g.slower {
		return false, nil
	}
	if g.probing || time.Now().Before(g.until) {
		return false, ErrResting
	}
	g.probing = true
	return true, nil
}

// note records a call's outcome in the breaker.
func (g *Guard) note(probe bool, err error, patience time.Duration, late bool, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if probe {
		g.probing = false
	}
	if err == nil || errors.Is(err, ErrRefused) {
		g.state.Up = true
		if probe || took < g.slower {
			g.failures, g.slower = 0, 0
		}
		return
	}
	g.state.Up, g.state.LastError, g.state.ErrorAt = false, err.Error(), time.Now()
	g.state.Failures++
	g.failures++
	if late {
		g.slower = max(g.slower, patience)
	} else {
		g.slower = forever
	}
	if g.failures >= guardFailures {
		g.until = time.Now().Add(guardRest)
	}
}
