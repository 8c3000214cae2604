package index

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/cairndb/cairn/index/exact"
	"github.com/cairndb/cairn/index/rank"
)

// Words that carry no meaning by themselves, such as "who is it", are in most texts and not indexed. A question of
// nothing else looks for the rows that have them: a walk over the columns.

// A stopRow is a row with some of the question's stop words: a bit for each of their kinds.
type stopRow struct {
	row   uint32
	kinds uint64
	worth float64 // of its kinds; rare ones are worth more
}

// searchStops finds the rows that have words of these kinds, each of which is a term of the question. The text index
// knows how many rows there are.
func (in *question) searchStops(asked uint64) (rank.Question, []rank.Candidate) {
	q := in.rankQuestion(in.d.words.Totals(in.groups()...))
	var counts [64]uint64 // rows, by kind
	var rows []stopRow
	for row := range in.cols.n {
		kinds := *in.cols.stops(row) & asked
		if kinds == 0 || !in.Keep(row) {
			continue
		}
		for k := kinds; k != 0; k &= k - 1 {
			counts[bits.TrailingZeros64(k)]++
		}
		rows = append(rows, stopRow{row: row, kinds: kinds})
	}
	for k := asked; k != 0; k &= k - 1 {
		q.Terms = append(q.Terms, rank.Term{DF: counts[bits.TrailingZeros64(k)], Share: 1})
	}
	limit := max(depth, in.q.K)
	order := func(a, b stopRow) int { return cmp.Or(cmp.Compare(b.worth, a.worth), in.tie(a.row, b.row)) }
	best := make([]stopRow, 0, min(len(rows), limit)+1)
	for _, r := range slices.Backward(rows) { // the newest come last
		for k := r.kinds; k != 0; k &= k - 1 {
			df := float64(counts[bits.TrailingZeros64(k)])
			r.worth += exact.Ln(1 + float64(q.Rows)/df)
		}
		if len(best) == limit && order(r, best[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, r, order)
		if best = slices.Insert(best, at, r); len(best) > limit {
			best = best[:limit]
		}
	}
	cands, n := in.cands[:0], len(q.Terms)
	tf := make([]uint16, len(best)*n)
	for i, r := range best {
		rowTF := tf[i*n : (i+1)*n : (i+1)*n]
		for t, k := 0, asked; k != 0; t, k = t+1, k&(k-1) {
			rowTF[t] = uint16(r.kinds >> bits.TrailingZeros64(k) & 1)
		}
		cands = append(cands, in.candidate(r.row, rowTF))
	}
	return q, cands
}
