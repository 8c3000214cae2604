package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
)

// asked is what a client wanted: to set or read a number, to put something there once, or to take it away.
type asked struct {
	verb  string // set, get, add, take
	key   string
	value int
}

// told is what it heard.
type told struct {
	unknown bool // nobody knows whether it happened
	value   int  // get: the number, 0 for none; take: 1 when it was there
}

// history is what all clients asked and heard.
type history struct {
	mu    sync.Mutex
	start time.Time
	ops   []porcupine.Operation
	bad   []string // promises broken that no order of events would excuse
	sure  int      // writes that were acknowledged
}

func (h *history) note(client int, in asked, out told, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := time.Since(h.start).Nanoseconds()
	if out.unknown {
		if in.verb == "get" {
			return // a question nobody answered says nothing
		}
		to = math.MaxInt64 // it may happen at any time from now on
	} else if in.verb != "get" {
		h.sure++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from.Sub(h.start).Nanoseconds(), Return: to})
}

func (h *history) broken(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bad = append(h.bad, fmt.Sprintf(format, args...))
}

// refused says whether an error means that the write surely did not happen.
func refused(err error) bool {
	var e *oplog.Error
	return errors.As(err, &e) && e.Kind != oplog.UnknownOutcome && e.Kind != oplog.Internal
}

// client works against one node after another until ctx ends.
type worker struct {
	id   int
	rng  *rand.Rand
	c    *cluster
	h    *history
	keys int
	next int                        // of the things it adds
	seen map[*node.Node]oplog.Index // newest answer of a node: later ones are no older
}

func (w *worker) run(ctx context.Context) {
	verbs := []func(context.Context, *node.Service, node.Caller, *node.Node){w.set, w.set, w.get, w.get, w.add, w.take, w.stale}
	for ctx.Err() == nil {
		n := w.c.node(w.rng.IntN(len(w.c.nodes)))
		if n == nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		s := n.Service()
		caller, err := s.Local("default")
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		verbs[w.rng.IntN(len(verbs))](ctx, s, caller, n)
		pause(ctx, time.Duration(w.rng.IntN(60))*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (w *worker) key() string { return fmt.Sprint("k", w.rng.IntN(w.keys)) }

// set overwrites a number: the weight of a relation.
func (w *worker) set(ctx context.Context, s *node.Service, c node.Caller, _ *node.Node) {
	in := asked{"set", w.key(), 1 + w.rng.IntN(1_000_000)}
	from := time.Now()
	_, _, err := s.Relate(ctx, c, in.key, "is", "number", float64(in.value))
	if err == nil || !refused(err) {
		w.h.note(w.id, in, told{unknown: err != nil}, from)
	}
}

func (w *worker) get(ctx context.Context, s *node.Service, c node.Caller, _ *node.Node) {
	in := asked{"get", w.key(), 0}
	from := time.Now()
	edges, err := s.Edges(ctx, c, in.key, node.Freshness{Mode: node.LinearizableMode})
	if err != nil {
		return
	}
	out := told{}
	if len(edges) > 0 {
		out.value = int(edges[0].Weight)
	}
	w.h.note(w.id, in, out, from)
}

func (w *worker) thing(owner, number int) string { return fmt.Sprintf("thing-%d-%d", owner, number) }

// add puts a thing there, and reads it elsewhere at the index it was told.
func (w *worker) add(ctx context.Context, s *node.Service, c node.Caller, _ *node.Node) {
	in := asked{"add", w.thing(w.id, w.next), 0}
	from := time.Now()
	r, err := s.Remember(ctx, c, in.key, node.Draft{RID: in.key, Text: "word" + in.key, Importance: 0.5})
	if err != nil {
		if !refused(err) {
			w.next++
			w.h.note(w.id, in, told{unknown: true}, from)
		}
		return
	}
	w.next++
	w.h.note(w.id, in, told{}, from)
	other := w.c.node(w.rng.IntN(len(w.c.nodes)))
	if other == nil {
		return
	}
	_, err = other.Service().Memory(ctx, c, in.key, node.Freshness{Mode: node.AtIndexMode, Index: r.Index})
	if errors.Is(err, oplog.ErrNoMemory) {
		w.h.broken("%s was acknowledged at %d and is not there at that index", in.key, r.Index)
	}
}

// take removes a thing that somebody may have added, and that others may take at the same time.
func (w *worker) take(ctx context.Context, s *node.Service, c node.Caller, _ *node.Node) {
	if w.next == 0 {
		return
	}
	in := asked{"take", w.thing(w.rng.IntN(clients), w.rng.IntN(w.next)), 0}
	from := time.Now()
	found, _, err := s.Forget(ctx, c, in.key)
	out := told{unknown: err != nil}
	if found {
		out.value = 1
	}
	if err == nil || !refused(err) {
		w.h.note(w.id, in, out, from)
	}
}

// stale asks a node what it has: its answers never go back in time.
func (w *worker) stale(ctx context.Context, s *node.Service, c node.Caller, n *node.Node) {
	var at oplog.Index
	err := s.View(ctx, c, node.Stale, func(v *oplog.View) error {
		at = v.Index()
		return nil
	})
	if err != nil {
		return
	}
	if at < w.seen[n] {
		w.h.broken("a node answered at %d after it had answered at %d", at, w.seen[n])
	}
	w.seen[n] = at
}
