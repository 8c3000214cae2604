package simulation

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
)

// A pair is two keys, each of which has a small number or none. Its state in the model is one number: the first key's
// number times pairBase, plus the second key's.
const pairBase = 1000

// stepPair reports whether the model allows this reply for a pair, and returns its next state.
func stepPair(have int, in call, out reply) (bool, int) {
	a, b := have/pairBase, have%pairBase
	next, does := have, true
	switch in.verb {
	case "swap": // sets the first key's number if it is the expected one
		does, next = a == in.expect, in.value*pairBase+b
	case "both": // sets both numbers if the first is the expected one; the batch also reads both
		does, next = a == in.expect, in.value
	case "move": // renames the first key to the second
		does, next = a != 0 && b == 0, a
	case "peek":
		return out.value == have, have
	}
	switch {
	case out.unknown && does:
		return true, next
	case out.unknown:
		return true, have
	case out.rejected:
		return !does, have
	}
	return does && (in.verb != "both" || out.value == have), next
}

// pairCount is the number of pairs, and of the values of a key: few, so that clients meet.
const pairCount = 4

func pairKey(pair, name string) string { return "/" + pair + "/" + name }

func number(n int) string { return fmt.Sprint("number ", n) }

func (w *worker) pair() string { return fmt.Sprint("pair", w.rng.IntN(pairCount)) }

// hasNumber returns the condition that a key has the number n, or has no memory if n is 0.
func hasNumber(n int) api.Condition {
	if n == 0 {
		return api.Condition{IfAbsent: true}
	}
	return api.Condition{IfSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(number(n))))}
}

// numberStep returns the step of a batch that stores the number n under a key, or deletes the key if n is 0.
func (w *worker) numberStep(key string, n int, on api.Condition) api.BatchStep {
	if n == 0 {
		return api.BatchStep{Op: "delete", Path: key, Condition: on}
	}
	return api.BatchStep{Op: "put", Path: key, Memory: &api.Draft{Text: number(n), Importance: .5}, Condition: on}
}

// recordPair records the outcome of a write of a pair. A write that its condition or a taken key rejected did not
// happen.
func (w *worker) recordPair(in call, value int, err error, from time.Time) {
	var said *api.Refusal
	switch {
	case err == nil:
		w.record(in, reply{value: value}, from)
	case errors.As(err, &said) && (said.Code == "precondition_failed" || said.Code == "key_taken"), errors.Is(err, oplog.ErrNoHolder):
		w.record(in, reply{rejected: true}, from)
	case !surelyFailed(err):
		w.record(in, reply{unknown: true}, from)
	}
}

// swap writes the first key of a pair under a condition.
func (w *worker) swap(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "swap", key: w.pair(), expect: w.rng.IntN(pairCount), value: w.rng.IntN(pairCount)}
	st := w.numberStep(pairKey(in.key, "a"), in.value, hasNumber(in.expect))
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	var err error
	if st.Op == "put" {
		_, err = api.Put.Do(ctx, s, c, &api.PutRequest{Draft: *st.Memory, Path: st.Path, Condition: st.Condition})
	} else {
		_, err = api.Delete.Do(ctx, s, c, &api.DeleteRequest{Path: st.Path, Condition: st.Condition})
	}
	w.recordPair(in, 0, err, from)
}

// both reads and writes a pair in one batch, under a condition.
func (w *worker) both(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "both", key: w.pair(), expect: w.rng.IntN(pairCount), value: w.rng.IntN(pairCount)*pairBase + w.rng.IntN(pairCount)}
	a, b := pairKey(in.key, "a"), pairKey(in.key, "b")
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	answer, err := api.Batch.Do(ctx, s, c,
		&api.BatchRequest{Steps: []api.BatchStep{w.numberStep(b, in.value%pairBase, api.Condition{}), {Op: "get", Path: b}, {Op: "get", Path: a},
			w.numberStep(a, in.value/pairBase, hasNumber(in.expect))}})
	value := 0
	if err == nil {
		value = readNumber(answer.Results[2])*pairBase + readNumber(answer.Results[1])
	}
	w.recordPair(in, value, err, from)
}

// readNumber returns the number that a step of a batch has read.
func readNumber(r api.BatchResult) (n int) {
	if r.Memory != nil {
		_, _ = fmt.Sscanf(r.Memory.Text, "number %d", &n)
	}
	return n
}

// move renames the first key of a pair to the second.
func (w *worker) move(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "move", key: w.pair()}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	_, err := api.Rename.Do(ctx, s, c, &api.RenameRequest{Path: pairKey(in.key, "a"), To: pairKey(in.key, "b")})
	w.recordPair(in, 0, err, from)
}

// peek reads a pair at one moment, as one page of its folder.
func (w *worker) peek(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := call{verb: "peek", key: w.pair()}
	from := time.Now()
	w.c.net.waitAwake(w.at + 1)
	page, err := api.ListKeys.Do(ctx, s, c,
		&api.ListKeysRequest{Prefix: "/" + in.key, Limit: 2, Full: true, Fresh: api.Fresh{Consistency: "linearizable"}})
	if err != nil {
		return
	}
	out := reply{}
	for _, row := range page.Keys {
		n := readNumber(api.BatchResult{Memory: row.Memory})
		if row.Path == pairKey(in.key, "a") {
			n *= pairBase
		}
		out.value += n
	}
	w.record(in, out, from)
}
