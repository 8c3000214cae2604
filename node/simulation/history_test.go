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

// call is the request of a client: to set or get a number; to add a thing, mark it with a number, look at it or take
// it away; or one on a pair of keys.
type call struct {
	verb   string // set, get; add, mark, look, take; swap, both, move, peek
	key    string
	value  int
	expect int // swap, both: the first key's number that the condition requires
}

func (a call) reads() bool { return a.verb == "get" || a.verb == "look" || a.verb == "peek" }

// reply is the outcome that a client has learned.
type reply struct {
	unknown  bool // the client does not know whether the request was carried out
	rejected bool // of a pair: the condition did not hold
	value    int  // get: number or 0; take: 1 if it was there; look: the model's state; peek, both: the old pair
}

// history records the calls of all clients with their replies, as porcupine checks them.
type history struct {
	mu         sync.Mutex
	start      time.Time
	ops        []porcupine.Operation
	violations []string // found without porcupine: no order of events explains them
	acked      int      // acknowledged writes
}

func (h *history) record(client int, in call, out reply, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := time.Since(h.start).Nanoseconds()
	if out.unknown {
		if in.reads() {
			return // a read without an answer constrains nothing
		}
		to = math.MaxInt64 // it may take effect at any later time
	} else if !in.reads() {
		h.acked++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from.Sub(h.start).Nanoseconds(), Return: to})
}

// acknowledged returns the number of acknowledged writes.
func (h *history) acknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

func (h *history) violation(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

// surelyFailed reports whether an error means that the write surely did not happen.
func surelyFailed(err error) bool {
	var e *oplog.Error
	return errors.As(err, &e) && e.Kind != oplog.UnknownOutcome && e.Kind != oplog.Internal
}

// worker is a client that calls one node after another until its context ends.
type worker struct {
	id           int
	rng          *rand.Rand
	c            *cluster
	h            *history
	keys         int
	nextThing    int                        // number of the next thing to add
	nextExpiring int                        // number of the next memory that expires
	seen         map[*node.Node]oplog.Index // index of the newest answer of each node, which later answers must reach
	at           int                        // the node that was picked last
}

func (w *worker) run(ctx context.Context) {
	verbs := []func(context.Context, *engine.Service, api.Caller, *node.Node){w.set, w.set, w.get, w.get, w.add, w.mark,
		w.mark, w.look, w.take, w.stale, w.swap, w.swap, w.both, w.both, w.move, w.peek, w.expire}
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

// pick returns a random node, or nil if it does not run. Half of the workers pick no paused node; the others wait for
// its answer.
func (w *worker) pick() *node.Node {
	w.at = w.rng.IntN(len(w.c.nodes))
	if w.id%2 == 0 && w.c.net.isPaused(w.at+1) {
		return nil
	}
	return w.c.node(w.at)
}

// record adds a call and its reply to the history. It waits while the picked node is paused, since a paused node has
// not sent the reply yet.
func (w *worker) record(in call, out reply, from time.Time) {
	w.c.net.waitAwake(w.at + 1)
	w.h.record(w.id, in, out, from)
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

// set overwrites a number, which is the weight of a relation.
func (w *worker) set(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "set", key: w.key(), value: 1 + w.rng.IntN(1_000_000)}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	_, err := api.Relate.Do(ctx, s, c, &api.RelateRequest{Src: in.key, Type: "is", Dst: "number", Weight: float64(in.value)})
	if err == nil || !surelyFailed(err) {
		w.record(in, reply{unknown: err != nil}, from)
	}
}

func (w *worker) get(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "get", key: w.key()}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	a, err := api.Edges.Do(ctx, s, c, &api.EdgesRequest{Entity: in.key, Fresh: api.Fresh{Consistency: "linearizable"}})
	if err != nil {
		return
	}
	out := reply{}
	if len(a.Edges) > 0 {
		out.value = int(a.Edges[0].Weight)
	}
	w.record(in, out, from)
}

func thing(owner, number int) string { return fmt.Sprintf("thing-%d-%d", owner, number) }

// anyThing returns the name of a thing that some worker may have added, or may add later.
func (w *worker) anyThing() string { return thing(w.rng.IntN(clients), w.rng.IntN(w.nextThing+2)) }

// add stores a thing, and checks that another node has it at the acknowledged index. While the outcome is unknown, it
// may repeat the request with the same key on other nodes.
func (w *worker) add(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "add", key: thing(w.id, w.nextThing)}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	draft := api.Draft{RID: in.key, Key: in.key, Text: "word" + in.key, Importance: 0.5}
	r, err := api.Remember.Do(ctx, s, c, &api.RememberRequest{Draft: draft})
	out := reply{}
	for range w.rng.IntN(3) {
		out.unknown = out.unknown || err != nil && !surelyFailed(err)
		if err == nil || !out.unknown || ctx.Err() != nil {
			break
		}
		w.c.net.waitAwake(w.at + 1)
		other := w.pick()
		if other == nil {
			break
		}
		w.c.net.waitAwake(w.at + 1)
		r, err = api.Remember.Do(ctx, other.Service(), c, &api.RememberRequest{Draft: draft})
	}
	switch {
	case err == nil:
		out.unknown = false
	case surelyFailed(err) && !out.unknown:
		return
	default:
		out.unknown = true
	}
	w.nextThing++
	w.record(in, out, from)
	if err != nil {
		return
	}
	other := w.pick()
	if other == nil {
		return
	}
	_, err = api.Get.Do(ctx, other.Service(), c, &api.GetRequest{RID: in.key, Fresh: api.Fresh{MinIndex: field.Token(r.Index)}})
	if errors.Is(err, oplog.ErrNoMemory) {
		w.h.violation("%s was acknowledged at %d and is not there at that index", in.key, r.Index)
	}
}

// mark writes a number on a thing. The node rejects it if the thing does not exist.
func (w *worker) mark(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "mark", key: w.anyThing(), value: 1 + w.rng.IntN(1_000_000)}
	text := fmt.Sprintf("word%s %d", in.key, in.value)
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	_, err := api.Correct.Do(ctx, s, c, &api.CorrectRequest{RID: in.key, Text: &text, Reason: "marked"})
	if err == nil || !surelyFailed(err) {
		w.record(in, reply{unknown: err != nil}, from)
	}
}

// look reads which number is written on a thing.
func (w *worker) look(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "look", key: w.anyThing()}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	m, err := api.Get.Do(ctx, s, c, &api.GetRequest{RID: in.key, Fresh: api.Fresh{Consistency: "linearizable"}})
	out := reply{value: absent}
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
	w.record(in, out, from)
}

// take removes a thing that any worker may have added, and that others may take at the same time.
func (w *worker) take(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "take", key: w.anyThing()}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	gone, err := api.Forget.Do(ctx, s, c, &api.ForgetRequest{RID: in.key})
	out := reply{unknown: err != nil}
	if err == nil && gone.Found {
		out.value = 1
	}
	if err == nil || !surelyFailed(err) {
		w.record(in, out, from)
	}
}

// expire stores a memory that expires within six seconds of true time, and reads it from another node. Whatever the
// nodes' clocks say, the memory must exist while the log's time is before its expiry, and must be gone afterwards.
func (w *worker) expire(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	rid := fmt.Sprintf("passing-%d-%d", w.id, w.nextExpiring)
	w.nextExpiring++
	due := time.Now().Add(time.Duration(w.rng.IntN(6000)) * time.Millisecond)
	w.c.net.waitAwake(w.at + 1)
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
		w.h.violation("%s expires at %v and is there at %v by the log's time", rid, due, before.Time())
	case errors.Is(err, oplog.ErrNoMemory) && other.State().Last().Time() < at:
		w.h.violation("%s expires at %v and is gone at %v by the log's time", rid, due, other.State().Last().Time().Time())
	}
}

// stale searches a node without waiting for newer data. Its answers must never go back in time, and its index must
// not be ahead of its state.
func (w *worker) stale(ctx context.Context, s *engine.Service, c api.Caller, n *node.Node) {
	a, err := api.Search.Do(ctx, s, c, &api.SearchRequest{Text: "word" + w.anyThing(), K: 1, Quiet: true})
	if err != nil {
		return
	}
	at, _ := n.State().Applied()
	if at < w.seen[n] {
		w.h.violation("a node answered at %d after it had answered at %d", at, w.seen[n])
	}
	if at < a.Index {
		w.h.violation("a node's index was at %d, its state at %d", a.Index, at)
	}
	w.seen[n] = at
}
