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

// A pair is two keys, each of which has a small number or none. Its state is one number: the first key's times wide,
// plus the second key's.
const wide = 1000

// stepPair reports whether a pair may answer so, and what it is afterwards.
func stepPair(have int, in asked, out told) (bool, int) {
	a, b := have/wide, have%wide
	next, does := have, true
	switch in.verb {
	case "swap": // the first key's number, if it is the expected one
		does, next = a == in.expect, in.value*wide+b
	case "both": // both, if the first key's is the expected one; a batch also reads both
		does, next = a == in.expect, in.value
	case "move": // the first key's memory to the second key
		does, next = a != 0 && b == 0, a
	case "peek":
		return out.value == have, have
	}
	switch {
	case out.unknown && does:
		return true, next
	case out.unknown:
		return true, have
	case out.refused:
		return !does, have
	}
	return does && (in.verb != "both" || out.value == have), next
}

// few is how many pairs and numbers there are, so that clients meet.
const few = 4

func side(pair, name string) string { return "/" + pair + "/" + name }

func number(n int) string { return fmt.Sprint("number ", n) }

func (w *worker) pair() string { return fmt.Sprint("pair", w.rng.IntN(few)) }

// expecting is the condition that a key has a number; 0 for no memory.
func expecting(n int) api.Condition {
	if n == 0 {
		return api.Condition{IfAbsent: true}
	}
	return api.Condition{IfSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(number(n))))}
}

// write is the step that gives a key a number, or none.
func (w *worker) write(key string, n int, on api.Condition) api.BatchStep {
	if n == 0 {
		return api.BatchStep{Op: "delete", Path: key, Condition: on}
	}
	return api.BatchStep{Op: "put", Path: key, Memory: &api.Draft{Text: number(n), Importance: .5}, Condition: on}
}

// keyed notes what became of a write of a pair. One that its condition, or another key, rejected has not happened.
func (w *worker) keyed(in asked, value int, err error, from time.Time) {
	var said *api.Refusal
	switch {
	case err == nil:
		w.note(in, told{value: value}, from)
	case errors.As(err, &said) && (said.Code == "precondition_failed" || said.Code == "key_taken"), errors.Is(err, oplog.ErrNoHolder):
		w.note(in, told{refused: true}, from)
	case !refused(err):
		w.note(in, told{unknown: true}, from)
	}
}

// swap changes the first key of a pair under a condition.
func (w *worker) swap(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "swap", key: w.pair(), expect: w.rng.IntN(few), value: w.rng.IntN(few)}
	st := w.write(side(in.key, "a"), in.value, expecting(in.expect))
	from := time.Now()
	w.c.net.awake(w.at + 1)
	var err error
	if st.Op == "put" {
		_, err = api.Put.Do(ctx, s, c, &api.PutRequest{Draft: *st.Memory, Path: st.Path, Condition: st.Condition})
	} else {
		_, err = api.Delete.Do(ctx, s, c, &api.DeleteRequest{Path: st.Path, Condition: st.Condition})
	}
	w.keyed(in, 0, err, from)
}

// both changes a pair in one batch, which also reads it.
func (w *worker) both(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "both", key: w.pair(), expect: w.rng.IntN(few), value: w.rng.IntN(few)*wide + w.rng.IntN(few)}
	a, b := side(in.key, "a"), side(in.key, "b")
	from := time.Now()
	w.c.net.awake(w.at + 1)
	answer, err := api.Batch.Do(ctx, s, c,
		&api.BatchRequest{Steps: []api.BatchStep{w.write(b, in.value%wide, api.Condition{}), {Op: "get", Path: b}, {Op: "get", Path: a},
			w.write(a, in.value/wide, expecting(in.expect))}})
	value := 0
	if err == nil {
		value = read(answer.Results[2])*wide + read(answer.Results[1])
	}
	w.keyed(in, value, err, from)
}

// read is the number that a step of a batch has read.
func read(r api.BatchResult) (n int) {
	if r.Memory != nil {
		_, _ = fmt.Sscanf(r.Memory.Text, "number %d", &n)
	}
	return n
}

// move gives the first key's memory the second key.
func (w *worker) move(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "move", key: w.pair()}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	_, err := api.Rename.Do(ctx, s, c, &api.RenameRequest{Path: side(in.key, "a"), To: side(in.key, "b")})
	w.keyed(in, 0, err, from)
}

// peek reads a pair at one moment: one page of its folder.
func (w *worker) peek(ctx context.Context, s *engine.Service, c api.Caller, _ *node.Node) {
	in := asked{verb: "peek", key: w.pair()}
	from := time.Now()
	w.c.net.awake(w.at + 1)
	page, err := api.ListKeys.Do(ctx, s, c,
		&api.ListKeysRequest{Prefix: "/" + in.key, Limit: 2, Full: true, Fresh: api.Fresh{Consistency: "linearizable"}})
	if err != nil {
		return
	}
	out := told{}
	for _, row := range page.Keys {
		n := read(api.BatchResult{Memory: row.Memory})
		if row.Path == side(in.key, "a") {
			n *= wide
		}
		out.value += n
	}
	w.note(in, out, from)
}
