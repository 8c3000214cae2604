package vector

import (
	"cmp"
	"math"
	"slices"
)

// errorDeviations is the error bound of the product of two int8 forms, in standard deviations.
const errorDeviations = 4

// needOriginals returns how many of the best hits by their int8 forms have to be compared by their originals, so that
// the nearest ones are surely found. The int8 forms of the others are too far behind.
func (s *Store) needOriginals(q *Query, hits []Hit) (n int) {
	if n = q.sure(); n >= len(hits) {
		return len(hits)
	}
	last := hits[n-1]
	least := last.Sim - s.quantError(q, last.Row)
	for i := n; i < len(hits); i++ {
		if hits[i].Sim+s.quantError(q, hits[i].Row) >= least {
			n = i + 1
		}
	}
	return n
}

// quantError bounds the difference between the product of the question's int8 form with a row's and the product of
// their originals. Each dimension of either is off by up to half a step, and both vectors have unit length.
func (s *Store) quantError(q *Query, row uint32) float64 {
	b := q.blocks[row/blockRows]
	slot, ok := b.slot(int(row % blockRows))
	if !ok {
		return 2
	}
	step := float64(b.scale[slot])
	return float64(errorDeviations * math.Sqrt((float64(float64(q.scale)*float64(q.scale))+float64(step*step))/12))
}

// rescore sets the scores of hits to the products of their originals. It reads these in the order of rows, which is
// about how their owner stores them and cheaper than a random order, and leaves the hits in that order.
func (s *Store) rescore(q *Query, hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Row, b.Row) })
	for i := range hits {
		if v := q.Exact(hits[i].Row); len(v) == s.dim {
			hits[i].Sim = Dot(q.unit, v)
		}
	}
}
