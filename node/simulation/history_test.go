package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// asked holds what a client wanted: to set or read a number; to put a thing there once, to write a number on it, to
// look at it, or to take it away; or something of a pair of keys.
type asked struct {
	verb   string // set, get; add, mark, look, take; swap, both, move, peek
	key    string
	value  int
	expect int // swap, both: the number that the first key is to have
}

func (a asked) reads() bool { return a.verb == "get" || a.verb == "look" || a.verb == "peek" }

// told holds what the client heard.
type told struct {
	unknown bool // it is not known whether it happened
	refused bool // a pair's: its condition did not hold
	value   int  // get: the number, 0 for none; take: 1 when it was there; look: as in the model; peek, both: the pair as it was
}

// history records what all clients asked and heard.
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
		if in.reads() {
			return // a question without an answer says nothing
		}
		to = math.MaxInt64 // it may happen at any time from now on
	} else if !in.reads() {
		h.sure++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from.Sub(h.start).Nanoseconds(), Return: to})
}

// acknowledged returns the number of acknowledged writes.
func (h *history) acknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure
}

func (h *history) broken(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bad = append(h.bad, fmt.Sprintf(format, args...))
}

// refused reports whether an error means that the write surely did not happen.
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
	gone int                        // of the memories that expire
	seen map[*node.Node]oplog.Index // newest answer of a node: later ones are no older
	at   int                        // the node that was asked last
}

func (w *worker) run(ctx context.Context) {
	verbs := []func(context.Context, *engine.Service, api.Caller, *node.Node){w.set, w.set, w.get, w.get, w.add, w.mark,
		w.mark, w.look, w.take, w.stale, w.swap, w.swap, w.both, w.both, w.move, w.peek, w.pass}
	for ctx.Err() == nil {
		n := w.pick()
		if n == nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		s := n.Service()
		caller, err := n.Access().Local("default")
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		verbs[w.rng.IntN(len(verbs))](ctx, s, caller, n)
		pause(ctx, time.Duration(w.rng.IntN(60))*time.Millisecond)
	}
}

// pick goes to a node. What is asked of one that stands still waits for it; half of the clients rather ask another.
func (w *worker) pick() *node.Node {
	w.at = w.rng.IntN(len(w.c.nodes))
	if w.id%2 == 0 && w.c.net.stands(w.at+1) {
		return nil
	}
	return w.c.node(w.at)
}

// note writes down what the node that was asked last has said; one that stands still has not said it yet.
func (w *worker) note(in asked, out told, from time.Time) {
	w.c.net.awake(w.at + 1)
	w.h.note(w.id, in, out, from)
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
func (w *worker) set(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "set", key: w.key(), value: 1 + w.rng.IntN(1_000_000)}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	_, err := api.Relate.Do(ctx, s, c, &api.RelateRequest{Src: in.key, Type: "is", Dst: "number", Weight: float64(in.value)})
	if err == nil || !refused(err) {
		w.note(in, told{unknown: err != nil}, from)
	}
}

func (w *worker) get(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "get", key: w.key()}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	a, err := api.Edges.Do(ctx, s, c, &api.EdgesRequest{Entity: in.key, Fresh: api.Fresh{Consistency: "linearizable"}})
	if err != nil {
		return
	}
	out := told{}
	if len(a.Edges) > 0 {
		out.value = int(a.Edges[0].Weight)
	}
	w.note(in, out, from)
}

func thing(owner, number int) string { return fmt.Sprintf("thing-%d-%d", owner, number) }

// some is a thing that was perhaps added, or perhaps will be.
func (w *worker) some() string { return thing(w.rng.IntN(clients), w.rng.IntN(w.next+2)) }

// add puts a thing there, and reads it elsewhere at the index it was told. When it does not hear of it, it asks others,
// with the same key, whether they have.
func (w *worker) add(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "add", key: thing(w.id, w.next)}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	draft := api.Draft{RID: in.key, Key: in.key, Text: "word" + in.key, Importance: 0.5}
	r, err := api.Remember.Do(ctx, s, c, &api.RememberRequest{Draft: draft})
	out := told{}
	for range w.rng.IntN(3) {
		out.unknown = out.unknown || err != nil && !refused(err)
		if err == nil || !out.unknown || ctx.Err() != nil {
			break
		}
		w.c.net.awake(w.at + 1)
		other := w.pick()
		if other == nil {
			break
		}
		w.c.net.awake(w.at + 1)
		r, err = api.Remember.Do(ctx, other.Service(), c, &api.RememberRequest{Draft: draft})
	}
	switch {
	case err == nil:
		out.unknown = false
	case refused(err) && !out.unknown:
		return
	default:
		out.unknown = true
	}
	w.next++
	w.note(in, out, from)
	if err != nil {
		return
	}
	other := w.pick()
	if other == nil {
		return
	}
	_, err = api.Get.Do(ctx, other.Service(), c, &api.GetRequest{RID: in.key, Fresh: api.Fresh{MinIndex: field.Token(r.Index)}})
	if errors.Is(err, oplog.ErrNoMemory) {
		w.h.broken("%s was acknowledged at %d and is not there at that index", in.key, r.Index)
	}
}

// mark writes a number on a thing, which is rejected when it is not there.
func (w *worker) mark(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "mark", key: w.some(), value: 1 + w.rng.IntN(1_000_000)}
	text := fmt.Sprintf("word%s %d", in.key, in.value)
	from := time.Now()
	w.c.net.awake(w.at + 1)
	_, err := api.Correct.Do(ctx, s, c, &api.CorrectRequest{RID: in.key, Text: &text, Reason: "marked"})
	if err == nil || !refused(err) {
		w.note(in, told{unknown: err != nil}, from)
	}
}

// look says what is written on a thing.
func (w *worker) look(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "look", key: w.some()}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	m, err := api.Get.Do(ctx, s, c, &api.GetRequest{RID: in.key, Fresh: api.Fresh{Consistency: "linearizable"}})
	out := told{value: absent}
	switch {
	case errors.Is(err, oplog.ErrNoMemory):
	case err != nil:
		return
	case m.Status == oplog.Active.String():
		out.value = present
		if _, number, marked := strings.Cut(m.Text, " "); marked {
			_, _ = fmt.Sscan(number, &out.value)
		}
	default:
		out.value = taken
	}
	w.note(in, out, from)
}

// take removes a thing that somebody may have added, and that others may take at the same time.
func (w *worker) take(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "take", key: w.some()}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	gone, err := api.Forget.Do(ctx, s, c, &api.ForgetRequest{RID: in.key})
	out := told{unknown: err != nil}
	if err == nil && gone.Found {
		out.value = 1
	}
	if err == nil || !refused(err) {
		w.note(in, out, from)
	}
}

// pass stores a memory that expires in a few seconds, by a right clock, and reads it elsewhere. Whatever the nodes'
// clocks say, it is there as long as the log's time is before its own, and not any more from then on.
func (w *worker) pass(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	rid := fmt.Sprintf("passing-%d-%d", w.id, w.gone)
	w.gone++
	due := time.Now().Add(time.Duration(w.rng.IntN(6000)) * time.Millisecond)
	w.c.net.awake(w.at + 1)
	r, err := api.Remember.Do(ctx, s, c,
		&api.RememberRequest{Draft: api.Draft{RID: rid, Text: "word" + rid, Expires: field.Date{Time: due}}})
	if err != nil {
		return
	}
	pause(ctx, time.Duration(w.rng.IntN(6000))*time.Millisecond)
	other := w.pick()
	if other == nil {
		return
	}
	before := other.State().Last().Time()
	_, err = api.Get.Do(ctx, other.Service(), c, &api.GetRequest{RID: rid, Fresh: api.Fresh{MinIndex: field.Token(r.Index)}})
	switch at := oplog.At(due); {
	case err == nil && before >= at:
		w.h.broken("%s expires at %v and is there at %v by the log's time", rid, due, before.Time())
	case errors.Is(err, oplog.ErrNoMemory) && other.State().Last().Time() < at:
		w.h.broken("%s expires at %v and is gone at %v by the log's time", rid, due, other.State().Last().Time().Time())
	}
}

// stale asks a node what it has: its answers never go back in time, and it finds nothing that it does not hold.
func (w *worker) stale(ctx context.Context, s *engine.Service, c api.Caller, n *node.Node) {
	a, err := api.Search.Do(ctx, s, c, &api.SearchRequest{Text: "word" + w.some(), K: 1, Quiet: true})
	if err != nil {
		return
	}
	at, _ := n.State().Applied()
	if at < w.seen[n] {
		w.h.broken("a node answered at %d after it had answered at %d", at, w.seen[n])
	}
	if at < a.Index {
		w.h.broken("a node's index was at %d, its state at %d", a.Index, at)
	}
	w.seen[n] = at
}
