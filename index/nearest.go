package index

import (
	"slices"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

// neighbours holds the rows nearest to the question's vector; none without one.
type neighbours struct {
	store *vector.Store
	ask   *vector.Query
	hits  []vector.Hit
}

// nearest looks for the rows nearest to the question's vector.
func (in *question) nearest(pool vector.Pool) (near neighbours) {
	store := in.d.vectors.Load()
	if store == nil || in.cols.n == 0 || len(in.q.Vector) != store.Dim() || in.q.Epoch != nil && *in.q.Epoch != store.Epoch {
		return near
	}
	unit := vector.Unit(slices.Clone(in.q.Vector))
	if unit == nil {
		return near
	}
	buf := make([]float32, store.Dim())
	ask := vector.Query{K: max(vectorDepth, in.q.K), Precise: max(precise, 4*in.q.K), Sure: max(in.q.K, in.q.Deep),
		Below: in.cols.n, Tie: in.tie, Exact: func(row uint32) []float32 {
			return vector.Unit(in.view.Floats(in.db, in.cols.at(row).seq, buf))
		}}
	if !in.all { // the vector store itself leaves out dead rows
		ask.Keep = in.filterRows
		ask.Among, ask.Most = in.candidateLists()
	}
	q := store.Ask(unit, ask)
	return neighbours{store, q, store.Search(q, pool)}
}

// join adds the nearest rows to candidates, and the similarity of those already found.
func (n neighbours) join(cands []rank.Candidate, pool vector.Pool, beside bool) []rank.Candidate {
	if n.store == nil {
		return cands
	}
	place := make(map[uint32]int, len(n.hits))
	for i, h := range n.hits {
		place[h.Row] = i
	}
	known := make([]bool, len(n.hits)) // hits that words found as well
	estimate := func(cands []rank.Candidate) {
		n.store.Similarities(n.ask, len(cands), func(i int) uint32 { return cands[i].Row }, func(i int, estimate float64, ok bool) {
			c := &cands[i]
			c.Vector, c.HasVector = estimate, ok
			if at, found := place[c.Row]; found {
				known[at], c.Vector, c.HasVector = true, n.hits[at].Sim, true
			}
		})
	}
	if half := len(cands) / 2; beside && half >= parallelCands {
		pool.RunBoth(func() { estimate(cands[:half]) }, func() { estimate(cands[half:]) })
	} else {
		estimate(cands)
	}
	for i, h := range n.hits {
		if !known[i] {
			cands = append(cands, rank.Candidate{Row: h.Row, Vector: h.Sim, HasVector: true})
		}
	}
	return cands
}

// newestRows returns the candidates of a list. Without a filter of attributes it looks at listLimit rows; with one, at
// all rows that pass it.
func (in *question) newestRows(cands []rank.Candidate) []rank.Candidate {
	cands = cands[:0]
	seq, skip := oplog.Seq(in.d.bySeq.top.Load()), in.q.Skip
	for looked := 0; seq > 0 && looked < listLimit+in.q.Skip && len(cands) < in.q.K; seq-- {
		row := in.d.bySeq.get(seq)
		if row != 0 && in.q.Match != nil && (row > in.cols.n || !in.match.has(row-1)) {
			continue
		}
		if in.q.Match == nil {
			looked++
		}
		if row != 0 && in.Keep(row-1) {
			if skip > 0 {
				skip--
				continue
			}
			cands = append(cands, rank.Candidate{Row: row - 1})
		}
	}
	return cands
}
