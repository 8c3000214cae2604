package history

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// registerSum is what is left of a register that was closed: what it may be in the end.
type registerSum struct{ may []int }

// orderTimeout bounds the search for an order of one register's operations.
const orderTimeout = 20 * time.Second

// model is a number that is what was written last, 0 at first.
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
	index := map[int]uint64{0: 0} // where in the log a number was written, of those that were acknowledged
	var last uint64
	sum := &registerSum{}
	for _, o := range ops {
		if o.Op == Write && o.Outcome == Done {
			index[o.Value], last = o.Index, max(last, o.Index)
		}
	}
	for n, at := range index {
		if at == last {
			sum.may = append(sum.may, n)
		}
	}
	var history []porcupine.Operation
	for _, o := range ops {
		p := porcupine.Operation{ClientId: o.Client, Input: o, Output: o.Value, Call: o.From, Return: o.To}
		switch {
		case o.Op == Write && o.Outcome == Unknown:
			sum.may = append(sum.may, o.Value)
			p.Return = math.MaxInt64 // it may happen at any time from now on
		case o.Outcome == Refused || o.Op == Get && o.Mode != Linearizable:
			continue
		}
		history = append(history, p)
	}
	switch porcupine.CheckOperationsTimeout(model, history, orderTimeout) {
	case porcupine.Illegal:
		c.wrong(Disorder, "no order explains the answers of %s", key)
	case porcupine.Unknown:
		c.v.Undecided++
	}
	c.judgeIndexes(key, ops, index)
	return sum
}

// judgeIndexes judges reads by where in the log the number was written that they show. Of a number whose write was not acknowledged
// that is not known.
func (c *checker) judgeIndexes(key string, ops []Record, index map[int]uint64) {
	type process struct{ node, life int }
	shown := map[process][]Record{}
	for _, r := range ops {
		at, known := index[r.Value]
		if r.Op != Get || !known {
			continue
		}
		if r.Mode == AtIndex {
			for n, i := range index {
				if i <= r.Index && i > at {
					c.wrong(Behind, "node %d showed %d in %s (at index %d), which is of index %d; %d is of index %d", r.Node, r.Value, key, r.Index, at, n, i)
					break
				}
			}
		}
		if r.Life == 0 {
			continue
		}
		who := process{r.Node, r.Life}
		for _, q := range shown[who] {
			if q.To < r.From && index[q.Value] > at {
				c.wrong(Back, "node %d showed %d in %s from %d to %d, and %d before, which is newer", r.Node, r.Value, key, r.From, r.To, q.Value)
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
