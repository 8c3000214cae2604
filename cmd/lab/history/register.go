package history

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// registerSum holds the values that a closed register may have in the end.
type registerSum struct{ may []int }

// orderTimeout bounds the search for an order of one register's operations.
const orderTimeout = 20 * time.Second

// model is the register's model: a number, the last one written, 0 at first.
var model = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		if r := input.(Record); r.Op == Write {
			return true, r.Value
		}
		return output.(int) == state.(int), state
	},
}

// judgeRegister judges all operations of a register; ops are in the order of their beginnings.
func (c *checker) judgeRegister(key string, ops []Record) *registerSum {
	writes := map[int]Record{0: {}} // those that were acknowledged
	sum := &registerSum{}
	var history []porcupine.Operation
	for _, o := range ops {
		p := porcupine.Operation{ClientId: o.Client, Input: o, Output: o.Value, Call: o.From, Return: o.To}
		switch {
		case o.Op == Write && o.Outcome == Done:
			writes[o.Value] = o
		case o.Op == Write && o.Outcome == Unknown:
			sum.may = append(sum.may, o.Value)
			p.Return = math.MaxInt64 // it may happen at any time from now on
		case o.Outcome == Refused || o.Op == Get && o.Mode != Linearizable:
			continue
		}
		history = append(history, p)
	}
	for n, w := range writes {
		if !slices.ContainsFunc(ops, func(o Record) bool { return o.Op == Write && o.Outcome == Done && older(w, o) }) {
			sum.may = append(sum.may, n)
		}
	}
	switch porcupine.CheckOperationsTimeout(model, history, orderTimeout) {
	case porcupine.Illegal:
		c.wrong(Disorder, "no order explains the answers of %s", key)
	case porcupine.Unknown:
		c.v.Undecided++
	}
	c.judgeAge(key, ops, writes)
	return sum
}

// older reports whether a write had been acknowledged before another was requested. Their indexes do not tell: a
// write that was handed to two leaders is there from the first on, and is acknowledged at the index of the second.
func older(a, b Record) bool { return a.Value != b.Value && a.To < b.From }

// judgeAge judges reads by the write that they show, against one that is surely newer: which the index they ask for
// has, or which the same process has shown before.
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
					c.wrong(Behind, "node %d showed %d in %s at index %d, which has %d", r.Node, r.Value, key, r.Index, n)
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
				c.wrong(Back, "node %d showed %d in %s from %d to %d, and %d before, which is newer", r.Node, r.Value, key,
					r.From, r.To, q.Value)
				break
			}
		}
		shown[who] = append(shown[who], r)
	}
}

func (s *registerSum) final(c *checker, r Record) {
	if !slices.Contains(s.may, r.Value) {
		c.wrong(Lost, "node %d holds %d in %s in the end, which was not written last: that is one of %v", r.Node, r.Value, r.Key, s.may)
	}
}
