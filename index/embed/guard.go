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
	guardRest     = 3 * time.Second // those who would wait no longer than those that failed are refused, and then one of them tries
)

// ErrResting is the refusal to wait for an embedder that failed lately.
var ErrResting = errors.New("the embedder failed or was too slow lately and is left alone for a moment")

// ErrRefused is what an embedder that works says of texts it cannot embed.
var ErrRefused = errors.New("texts refused")

// A Guard stands between an embedder and those who wait for it. Every call has a deadline of its own, which the caller's own end
// does not shorten, and all calls share one breaker: after some failures in a row it refuses at once a caller that brings no more
// patience than those that failed. An embedder that is too slow for writes can so go on answering the background.
type Guard struct {
	embedder Embedder
	answers  answers

	mu       sync.Mutex
	failures int           // in a row
	slower   time.Duration // patience that was too short, of the failures in a row; forever after an error
	until    time.Time     // refused before
	probing  bool          // a caller tries whether it is over
	state    State
}

const forever = time.Duration(1<<63 - 1)

// State is how an embedder does.
type State struct {
	Up        bool      // the last call was answered
	Failures  uint64    // calls that were not, since the start
	LastError string    // of the newest failure; it holds no text
	ErrorAt   time.Time // zero: none failed
	Asked     uint64    // questions
	Known     uint64    // of them, those answered from the cache
}

// NewGuard returns the guard of an embedder.
func NewGuard(e Embedder) *Guard { return &Guard{embedder: e, state: State{Up: true}} }

// Identity is the embedder's.
func (g *Guard) Identity() Identity { return g.embedder.Identity() }

// State says how the embedder does.
func (g *Guard) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// Embed returns a vector a text as Embedder does, for as many texts as there is time for. The other ones have none, and err says why.
func (g *Guard) Embed(ctx context.Context, patience time.Duration, texts []string) (vecs [][]float32, err error) {
	vecs = make([][]float32, len(texts))
	probe, err := g.admit(patience)
	if err != nil {
		return vecs, err
	}
	// The end of one caller says nothing about the embedder.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for at := 0; at < len(texts); at += guardBatch {
		start := time.Now()
		part, err := g.embedder.Embed(ctx, texts[at:min(at+guardBatch, len(texts))])
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
	vecs, err := g.Embed(ctx, patience, []string{text})
	if err != nil {
		return nil, err
	}
	g.answers.put(text, vecs[0])
	return vecs[0], nil
}

// admit refuses a caller that would wait in vain; probe says that it is the one to try after a rest.
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

// note learns from a call.
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
