package vector

import (
	"cmp"
	"math"
	"slices"
)

// surely is the number of standard deviations by which the product of two int8 forms hardly errs.
const surely = 4

// doubtful returns how many of the best hits by their int8 forms have to be compared by their originals to find those
// that have to be the nearest: of the others the forms lie too far behind.
func (s *Store) doubtful(q *Query, hits []Hit) (n int) {
	if n = q.sure(); n >= len(hits) {
		return len(hits)
	}
	last := hits[n-1]
	least := last.Sim - s.errs(q, last.Row)
	for i := n; i < len(hits); i++ {
		if hits[i].Sim+s.errs(q, hits[i].Row) >= least {
			n = i + 1
		}
	}
	return n
}

// errs returns by how much the product of the question's int8 form with a row's may differ from that of the originals.
// Each dimension of either errs by up to half a step, and both vectors have unit length.
func (s *Store) errs(q *Query, row uint32) float64 {
	b := q.blocks[row/blockRows]
	slot, ok := b.slot(int(row % blockRows))
	if !ok {
		return 2
	}
	step := float64(b.scale[slot])
	return float64(surely * math.Sqrt((float64(float64(q.scale)*float64(q.scale))+float64(step*step))/12))
}

// rescore gives hits the products with their originals, which are asked for in the order of rows: that is about how
// their owner has them, and cheaper than here and there. It leaves the hits in that order.
func (s *Store) rescore(q *Query, hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Row, b.Row) })
	for i := range hits {
		if v := q.Exact(hits[i].Row); len(v) == s.dim {
			hits[i].Sim = Dot(q.unit, v)
		}
	}
}
