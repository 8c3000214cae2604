package embed

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairndb/cairn/index/breaker"
	"github.com/cairndb/cairn/index/modelserver"
)

// timed is an embedder that is slow, or fails.
type timed struct {
	takes time.Duration
	err   error
	calls int
}

func (e *timed) Identity() Identity { return Identity{"timed", "1", 8} }

func (e *timed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.calls++
	select {
	case <-time.After(e.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, 8)
		out[i][0] = float32(len(texts[i]))
	}
	return out, e.err
}

const (
	short = 250 * time.Millisecond
	long  = 30 * time.Second
)

// waits embeds texts through the guard, and returns how long that took.
func waits(g *Guard, patience time.Duration, texts ...string) (took time.Duration, err error) {
	start := time.Now()
	_, err = g.Embed(context.Background(), patience, texts)
	return time.Since(start), err
}

func TestGuardHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &timed{takes: time.Hour}
		g := NewGuard(e)
		for range breaker.Failures {
			if took, err := waits(g, short, "x"); took != short || err == nil {
				t.Errorf("got %s, %v; want %s and an error", took, err, short)
			}
		}
		for range 10 {
			if took, err := waits(g, short, "x"); took != 0 || !errors.Is(err, breaker.ErrResting) {
				t.Errorf("while it rests: got %s, %v", took, err)
			}
		}
		if s := g.State(); e.calls != breaker.Failures || !s.Down || s.Failures != breaker.Failures ||
			s.LastError != "embedder: no answer within 250ms" {
			t.Errorf("%d calls, %+v", e.calls, s)
		}
		time.Sleep(breaker.Rest)
		e.takes = 10 * time.Millisecond // it is back
		for range 2 {
			if took, err := waits(g, short, "x"); took != e.takes || err != nil {
				t.Errorf("afterwards: got %s, %v", took, err)
			}
		}
		if s := g.State(); s.Down {
			t.Errorf("%+v", s)
		}
	})
}

// TestGuardSlow: writes do not wait for an embedder that is too slow. It continues in the background.
func TestGuardSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &timed{takes: time.Second}
		g := NewGuard(e)
		for range breaker.Failures {
			waits(g, short, "x")
		}
		for range 2 {
			if took, err := waits(g, long, "x"); took != time.Second || err != nil {
				t.Errorf("in the background: got %s, %v", took, err)
			}
			if took, err := waits(g, short, "x"); took != 0 || !errors.Is(err, breaker.ErrResting) {
				t.Errorf("a write: got %s, %v", took, err)
			}
			if g.State().Down {
				t.Error("an embedder that answers the background is told to be down")
			}
		}
		time.Sleep(breaker.Rest)
		if took, _ := waits(g, short, "x"); took != short {
			t.Errorf("after a rest one write tries: it waited %s", took)
		}
		if took, _ := waits(g, short, "x"); took != 0 {
			t.Errorf("and no other: it waited %s", took)
		}
	})
}

func TestGuardErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &timed{err: errors.New("embedding server: 503")}
		g := NewGuard(e)
		for range breaker.Failures {
			waits(g, short, "x")
		}
		if _, err := waits(g, long, "x"); !errors.Is(err, breaker.ErrResting) || e.calls != breaker.Failures {
			t.Errorf("after %d errors: %v", e.calls, err)
		}
	})
}

// TestGuardIsNotTheCallers: a client that goes away is not a failure of the embedder.
func TestGuardIsNotTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(&timed{takes: time.Millisecond})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		vecs, err := g.Embed(ctx, short, []string{"x"})
		if s := g.State(); err != nil || len(vecs[0]) != 8 || s.Failures != 0 {
			t.Errorf("%v, %v, %+v", vecs, err, s)
		}
	})
}

// TestGuardLargeBatch: the guard returns the vectors that are ready in time. A batch that is too large does not count
// as a failure of the embedder.
func TestGuardLargeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(&timed{takes: short / 3})
		for range 2 * breaker.Failures {
			vecs, err := g.Embed(context.Background(), short, make([]string, 10*guardBatch))
			n := 0
			for _, v := range vecs {
				if v != nil {
					n++
				}
			}
			if err == nil || n < guardBatch || n > 3*guardBatch {
				t.Errorf("%d vectors, %v", n, err)
			}
		}
	})
}

func TestQuestionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &timed{takes: time.Millisecond}
		g := NewGuard(e)
		for range 5 {
			vec, err := g.Question(context.Background(), short, "where is it")
			if err != nil || vec[0] != 11 {
				t.Fatalf("%v, %v", vec, err)
			}
			vec[0] = 0 // the caller's own
		}
		if s := g.State(); e.calls != 1 || s.Asked != 5 || s.Known != 4 {
			t.Errorf("%d calls, %+v", e.calls, s)
		}
		e.err = errors.New("down")
		for range breaker.Failures + 1 {
			if _, err := g.Question(context.Background(), short, "another"); err == nil {
				t.Error("a question was answered by an embedder that fails")
			}
		}
		if vec, err := g.Question(context.Background(), short, "where is it"); err != nil || vec[0] != 11 {
			t.Errorf("while it is down: %v, %v", vec, err)
		}
		e.err = nil
		var c answers
		for i := range 300 {
			c.put(fmt.Sprint(i), make([]float32, 1<<14))
		}
		if _, old := c.get("0"); c.bytes > answersBytes || len(c.byKey) != c.order.Len() || old {
			t.Errorf("%d bytes, %d answers", c.bytes, len(c.byKey))
		}
		if _, ok := c.get("299"); !ok {
			t.Error("the newest is gone")
		}
	})
}

// prompted is an embedder that embeds questions differently from texts.
type prompted struct{ timed }

func (e *prompted) EmbedQuestions(ctx context.Context, texts []string) ([][]float32, error) {
	return e.Embed(ctx, []string{"query: " + texts[0]})
}

func TestQuestionsHaveTheirPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(&prompted{timed{takes: time.Millisecond}})
		question, err := g.Question(t.Context(), short, "where")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := g.Embed(t.Context(), short, []string{"where"})
		if err != nil {
			t.Fatal(err)
		}
		if question[0] != 12 || texts[0][0] != 5 {
			t.Errorf("a question of %g letters and a text of %g, want 12 and 5", question[0], texts[0][0])
		}
	})
}

// TestGuardRefused: texts that the embedder rejects do not count as its failures.
func TestGuardRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &timed{takes: time.Millisecond, err: fmt.Errorf("%w: too long", modelserver.ErrRefused)}
		g := NewGuard(e)
		for range 2 * breaker.Failures {
			if took, err := waits(g, short, "x"); took != e.takes || !errors.Is(err, modelserver.ErrRefused) {
				t.Errorf("got %s, %v; want %s and the refusal", took, err, e.takes)
			}
		}
		if s := g.State(); s.Down || s.Failures != 0 || s.LastError != "" {
			t.Errorf("%+v", s)
		}
	})
}
