package history

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// registerSum holds the valid final values of a closed register.
type registerSum struct{ valid []int }

// orderTimeout bounds the linearizability check of one register.
const orderTimeout = 20 * time.Second

// model is porcupine's model of a register: the last written number, initially 0.
var model = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		if r := input.(Record); r.Op == Write {
			return true, r.Value
		}
		return output.(int) == state.(int), state
	},
}

// judgeRegister checks all operations of a register. ops are sorted by start time.
func (c *checker) judgeRegister(key string, ops []Record) *registerSum {
	writes := map[int]Record{0: {}} // acknowledged writes by value
	sum := &registerSum{}
	var history []porcupine.Operation
	for _, o := range ops {
		p := porcupine.Operation{ClientId: o.Client, Input: o, Output: o.Value, Call: o.From, Return: o.To}
		switch {
		case o.Op == Write && o.Outcome == Done:
			writes[o.Value] = o
		case o.Op == Write && o.Outcome == Unknown:
			sum.valid = append(sum.valid, o.Value)
			p.Return = math.MaxInt64 // it may take effect at any later time
		case o.Outcome == Refused || o.Op == Get && o.Mode != Linearizable:
			continue
		}
		history = append(history, p)
	}
	for n, w := range writes {
		if !slices.ContainsFunc(ops, func(o Record) bool { return o.Op == Write && o.Outcome == Done && older(w, o) }) {
			sum.valid = append(sum.valid, n)
		}
	}
	switch porcupine.CheckOperationsTimeout(model, history, orderTimeout) {
	case porcupine.Illegal:
		c.violation(Disorder, "no order explains the answers of %s", key)
	case porcupine.Unknown:
		c.v.Undecided++
	}
	c.judgeAge(key, ops, writes)
	return sum
}

// older reports whether write a was acknowledged before b was requested. Indexes cannot decide this: a write that two
// leaders received takes effect at the first index and is acknowledged at the second.
func older(a, b Record) bool { return a.Value != b.Value && a.To < b.From }

// judgeAge checks that no read shows a write older than another one that it must reflect: one at or below the
// requested index, or one that the same process has shown before.
func (c *checker) judgeAge(key string, ops []Record, writes map[int]Record) {
	type process struct{ node, life int }
	shown := map[process][]Record{}
	for _, r := range ops {
		w, known := writes[r.Value]
		if r.Op != Get || !known {
			continue
		}
		if r.Mode == AtIndex {
			for n, newer := range writes {
				if newer.Index > 0 && newer.Index <= r.Index && older(w, newer) {
					c.violation(Behind, "node %d showed %d in %s at index %d, which has %d", r.Node, r.Value, key, r.Index, n)
					break
				}
			}
		}
		if r.Life == 0 {
			continue
		}
		who := process{r.Node, r.Life}
		for _, q := range shown[who] {
			if newer, known := writes[q.Value]; known && q.To < r.From && older(w, newer) {
				c.violation(Back, "node %d showed %d in %s from %d to %d, and %d before, which is newer", r.Node, r.Value, key,
					r.From, r.To, q.Value)
				break
			}
		}
		shown[who] = append(shown[who], r)
	}
}

func (s *registerSum) final(c *checker, r Record) {
	if !slices.Contains(s.valid, r.Value) {
		c.violation(Lost, "node %d holds %d in %s in the end, which was not written last: that is one of %v", r.Node, r.Value, r.Key, s.valid)
	}
}
