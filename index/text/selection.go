package text

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// results holds the rows that may be among the best, by number, and what each has of the terms.
type results struct {
	rows     []uint32
	lengths  []uint16
	tfs      []uint16 // of row i and term j at i·terms+j
	withTerm []uint32 // of the rows, those that have a term
	hits     []ranked
	chosen   []bool
}

func (b *results) forget() { b.rows, b.hits = b.rows[:0], b.hits[:0] }

// A ranked row has its place by key, lower first: the score, and among rows of equal score the caller's order.
type ranked struct {
	key     int64
	row, at uint32 // at: among the rows of best
}

// byScore returns the key of a score, which is not negative.
func byScore(score float64) int64 { return ^int64(math.Float64bits(score)) }

func (r ranked) score() float64 { return math.Float64frombits(uint64(^r.key)) }

// choose selects the K best rows, in no order.
func (s *search) choose(q Query) []ranked {
	k := q.K
	if k <= 0 {
		k = 10
	}
	s.accumulate(q, k)
	b := &s.results
	for _, f := range s.acc.found {
		b.rows = append(b.rows, f.row)
	}
	s.lookUp()
	s.rank()
	return topK(b.hits, k, &q)
}

// lookUp finds the frequency of each term in each row.
func (s *search) lookUp() {
	b, n := &s.results, len(s.terms)
	b.lengths = slices.Grow(b.lengths[:0], len(b.rows))[:len(b.rows)]
	b.tfs = slices.Grow(b.tfs[:0], len(b.rows)*n)[:len(b.rows)*n]
	clear(b.tfs)
	for order, add := range s.acc.order {
		b.withTerm = slices.Grow(b.withTerm[:0], len(b.rows))[:len(b.rows)]
		having := 0
		for i := range s.acc.found {
			b.withTerm[having] = uint32(i)
			having += int(s.acc.found[i].cell >> (sumBits + order) & 1)
		}
		b.withTerm = b.withTerm[:having]
		for i := range s.terms[add.term].lists {
			s.terms[add.term].lists[i].each(func(r run) { b.lookUpRun(r, add.term, n) })
		}
	}
}

// lookUpRun finds the rows having a term, j of n, among its postings of a run.
func (b *results) lookUpRun(r run, j, n int) {
	first, last := r.row(r.post[0]), r.row(r.post[len(r.post)-1])
	i, _ := slices.BinarySearchFunc(b.withTerm, first, func(i, row uint32) int { return cmp.Compare(b.rows[i], row) })
	at := 0
	for _, i := range b.withTerm[i:] {
		row := b.rows[i]
		if row > last {
			return
		}
		place := row % spanRows
		if at = seek(r.post, at, place); placeOf(r.post[at]) == place {
			b.tfs[int(i)*n+j], b.lengths[i] = r.counts(r.post[at])
		}
	}
}

// rank scores the rows: each one's parts are added up in the order of the terms.
func (s *search) rank() {
	b, a, n := &s.results, &s.acc, len(s.terms)
	var weights [maxTerms]float64
	for _, add := range a.order {
		weights[add.term] = add.weight
	}
	for i, row := range b.rows {
		sum, matched := 0.0, 0
		for j, tf := range b.tfs[i*n : (i+1)*n] {
			if tf > 0 {
				matched++
				sum += float64(weights[j] * a.scale.of(tf, b.lengths[i]))
			}
		}
		b.hits = append(b.hits, ranked{byScore(exact.Round(float64(sum * a.coords[matched]))), row, uint32(i)})
	}
}

// tied orders rows of equal score by the caller's rules, then by number.
func (q *Query) tied(a, b uint32) int {
	if q.Order != nil {
		if c := cmp.Compare(q.Order(a), q.Order(b)); c != 0 {
			return c
		}
	}
	if q.Tie != nil {
		if c := q.Tie(a, b); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// topK returns the k best hits, in no order. The caller's order of equal scores is computed only where it decides which
// rows stay.
func topK(hits []ranked, k int, q *Query) []ranked {
	if len(hits) <= k {
		return hits
	}
	from, to := partitionTopK(hits, k)
	if to > k {
		equal, last := hits[from:to], hits[from].key
		for i := range equal {
			if equal[i].key = 0; q.Order != nil {
				equal[i].key = q.Order(equal[i].row)
			}
		}
		first, end := partitionTopK(equal, k-from)
		slices.SortFunc(equal[first:end], func(a, b ranked) int { return q.tied(a.row, b.row) })
		for i := range equal {
			equal[i].key = last
		}
	}
	return hits[:k]
}

// partitionTopK moves the k first of some hits to their beginning, in no order but that those with the last one's key,
// wherever they were, follow all better ones, at from..to.
func partitionTopK(h []ranked, k int) (from, to int) {
	for lo, hi := 0, len(h)-1; lo < hi; {
		pivot := h[(lo+hi)/2].key
		i, j := lo, hi
		for i <= j {
			for h[i].key < pivot {
				i++
			}
			for pivot < h[j].key {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		if k-1 <= j {
			hi = j
		} else if k-1 >= i {
			lo = i
		} else {
			break
		}
	}
	last := h[k-1].key
	for i := range h {
		if h[i].key < last {
			h[i], h[from] = h[from], h[i]
			from++
		}
	}
	to = from
	for i := from; i < len(h); i++ {
		if h[i].key == last {
			h[i], h[to] = h[to], h[i]
			to++
		}
	}
	return from, to
}
