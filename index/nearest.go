package index

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

// nearestRows holds the rows nearest to the question's vector. It is empty if the question has no vector.
type nearestRows struct {
	store *vector.Store
	query *vector.Query
	hits  []vector.Hit
}

// searchVectors looks for the rows nearest to the question's vector.
func (in *question) searchVectors(pool vector.Pool) (near nearestRows) {
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
	return nearestRows{store, q, store.Search(q, pool)}
}

// join adds the nearest rows to candidates, and the similarity of those already found.
func (n nearestRows) join(cands []rank.Candidate, pool vector.Pool, parallel bool) []rank.Candidate {
	if n.store == nil {
		return cands
	}
	place := make(map[uint32]int, len(n.hits))
	for i, h := range n.hits {
		place[h.Row] = i
	}
	known := make([]bool, len(n.hits)) // hits that words found as well
	estimate := func(cands []rank.Candidate) {
		n.store.Similarities(n.query, len(cands), func(i int) uint32 { return cands[i].Row }, func(i int, estimate float64, ok bool) {
			c := &cands[i]
			c.Vector, c.HasVector = estimate, ok
			if at, found := place[c.Row]; found {
				known[at], c.Vector, c.HasVector = true, n.hits[at].Sim, true
			}
		})
	}
	if half := len(cands) / 2; parallel && half >= parallelCands {
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

// newestRows returns the candidates of a list: the newest rows that pass its filters. It looks at the rows of the
// facets that may pass if these are few, and else at all rows, from the newest on.
func (in *question) newestRows(cands []rank.Candidate) []rank.Candidate {
	cands = cands[:0]
	skip := in.q.Skip
	add := func(row uint32) (full bool) {
		switch {
		case skip > 0:
			skip--
		default:
			cands = append(cands, rank.Candidate{Row: row})
		}
		return len(cands) == in.q.K
	}
	if rows, few := in.fewFacetRows(); few {
		for _, row := range rows {
			if add(row) {
				break
			}
		}
		return cands
	}
	for seq := oplog.Seq(in.d.bySeq.top.Load()); seq > 0; seq-- {
		if row := in.d.bySeq.get(seq); row != 0 && in.Keep(row-1) && add(row-1) {
			break
		}
	}
	return cands
}

// fewFacetRows returns the rows that pass the filters, the newest first, if those of the facets that may pass are
// few.
func (in *question) fewFacetRows() (rows []uint32, few bool) {
	if in.all {
		return nil, false
	}
	lists, total := in.candidateLists()
	if lists == nil || total > vector.DirectRows {
		return nil, false
	}
	rows = in.filterRows(slices.Concat(lists...))
	slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(in.cols.at(b).seq, in.cols.at(a).seq) })
	return slices.Compact(rows), true
}
