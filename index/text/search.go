package text

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// maxTerms is how many terms of a query are scored: those with the highest idf.
const maxTerms = 32

// A Query asks for the K best rows. Either Text is analysed or Terms are taken as they are.
type Query struct {
	Text   string
	Terms  []string // analysed terms; used when not nil
	Groups []uint32 // only rows of these groups; empty is every group
	// Keep refuses rows. It is asked of rows that would make the list, not of every match.
	Keep func(row uint32) bool
	// Tie orders rows of equal score, negative for a first; rows it finds equal, or nil, go by row number.
	Tie     func(a, b uint32) int
	K       int // 10
	Explain bool
	Params  *Params // instead of the index's own
}

// A Hit is a row and its score. Matched counts the query's terms in it.
type Hit struct {
	Row     uint32
	Score   float64
	Matched int
	Terms   []TermMatch // with Query.Explain, sorted by term
}

// A TermMatch is what one term contributed before coord.
type TermMatch struct {
	Term   string
	TF     uint16
	DF     uint64
	Length uint16
	Part   float64
}

// Search returns the best rows for a query, best first. The answer is a function of
// the live rows alone: neither batches nor merges nor restarts change a bit of it.
func (x *Index) Search(q Query) ([]Hit, error) {
	s, err := x.evaluate(q)
	if s == nil || err != nil {
		return nil, err
	}
	defer s.release()
	hits := s.top(q)
	if q.Explain {
		s.explain(hits)
	}
	return hits, nil
}

// Scores returns the score of each given row for a query, 0 where nothing
// matches or the row is dead or outside the groups. Keep and K are not used.
func (x *Index) Scores(q Query, rows []uint32) ([]float64, error) {
	out := make([]float64, len(rows))
	s, err := x.evaluate(q)
	if s == nil || err != nil {
		return out, err
	}
	defer s.release()
	for i, row := range rows {
		if int(row) < len(s.acc.cells) && s.acc.cells[row].mask != 0 {
			out[i] = round(s.raw(&s.acc.cells[row]))
		}
	}
	return out, nil
}

// A TermStat is a term's document frequency.
type TermStat struct {
	Term string
	DF   uint64
}

// TermStats returns the exact document frequencies of terms over the live rows
// of the groups, or of the database, sorted by term, with the totals of the same moment.
func (x *Index) TermStats(terms []string, groups []uint32) ([]TermStat, Totals, error) {
	s, err := x.gather(Query{Terms: terms, Groups: groups, Params: &Params{Local: true}})
	if s == nil || err != nil {
		return nil, x.Totals(groups...), err
	}
	defer s.release()
	stats := make([]TermStat, len(s.terms))
	for i, t := range s.terms {
		stats[i] = TermStat{t.term, t.df}
	}
	return stats, s.totals, nil
}

// evaluate gathers the postings of a query and accumulates their parts.
func (x *Index) evaluate(q Query) (*search, error) {
	s, err := x.gather(q)
	if s == nil || err != nil {
		return nil, err
	}
	s.choose()
	s.accumulate()
	return s, nil
}

// choose keeps the terms with the highest idf when there are too many; terms that
// no row has come last.
func (s *search) choose() {
	if len(s.terms) <= maxTerms {
		return
	}
	slices.SortFunc(s.terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(a.df-1, b.df-1), strings.Compare(a.term, b.term)) // 0-1 is the largest
	})
	s.terms = s.terms[:maxTerms]
	slices.SortFunc(s.terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
}

// accumulate adds up each row's parts in the order of the terms.
func (s *search) accumulate() {
	s.acc.grow(s.rows)
	scale := s.newScale()
	cells, touched := s.acc.cells, s.acc.touched
	for i := range s.terms {
		t := &s.terms[i]
		weight, bit := s.params.weight(s.totals.Rows, t.df), uint32(1)<<i
		for _, list := range t.lists {
			for _, p := range list {
				c := &cells[p.row]
				if c.mask == 0 {
					touched = append(touched, p.row)
				}
				c.mask |= bit
				c.sum += float64(weight * scale.of(p.tf, p.length))
			}
		}
	}
	s.acc.touched = touched
	for n := range s.coords {
		s.coords[n] = s.params.coord(n, len(s.terms))
	}
}

func (s *search) newScale() *scale { return &scale{params: s.params, totals: s.totals} }

// raw is a row's score before rounding.
func (s *search) raw(c *cell) float64 { return float64(c.sum * s.coords[bits.OnesCount32(c.mask)]) }

// top selects the K best rows with a heap whose root is the worst kept.
func (s *search) top(q Query) []Hit {
	k := q.K
	if k <= 0 {
		k = 10
	}
	h := hitHeap{tie: q.Tie, hits: make([]Hit, 0, min(k, len(s.acc.touched)))}
	enough := math.Inf(-1) // a raw score below it cannot round to one that makes the list
	for _, row := range s.acc.touched {
		c := &s.acc.cells[row]
		raw := s.raw(c)
		if raw < enough {
			continue
		}
		hit := Hit{Row: row, Score: round(raw), Matched: bits.OnesCount32(c.mask)}
		if len(h.hits) == k && !h.before(hit, h.hits[0]) || q.Keep != nil && !q.Keep(row) {
			continue
		}
		if h.offer(hit, k); len(h.hits) == k {
			enough = h.hits[0].Score - 2e-9
		}
	}
	slices.SortFunc(h.hits, func(a, b Hit) int {
		if h.before(a, b) {
			return -1
		}
		return 1
	})
	return h.hits
}

// explain fills the hits' term matches from the lists.
func (s *search) explain(hits []Hit) {
	at := make(map[uint32]int, len(hits))
	for i, h := range hits {
		at[h.Row] = i
	}
	scale := s.newScale()
	for _, t := range s.terms {
		weight := s.params.weight(s.totals.Rows, t.df)
		for _, list := range t.lists {
			for _, p := range list {
				if i, ok := at[p.row]; ok {
					hits[i].Terms = append(hits[i].Terms, TermMatch{
						Term: t.term, TF: p.tf, DF: t.df, Length: p.length,
						Part: float64(weight * scale.of(p.tf, p.length)),
					})
				}
			}
		}
	}
}

// A hitHeap keeps its worst hit at the root.
type hitHeap struct {
	hits []Hit
	tie  func(a, b uint32) int
}

// before orders hits: score down, then the caller's tie rule, then row number.
func (h *hitHeap) before(a, b Hit) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	if h.tie != nil {
		if c := h.tie(a.Row, b.Row); c != 0 {
			return c < 0
		}
	}
	return a.Row < b.Row
}

func (h *hitHeap) offer(hit Hit, k int) {
	if len(h.hits) < k {
		h.hits = append(h.hits, hit)
		for i := len(h.hits) - 1; i > 0; {
			up := (i - 1) / 2
			if !h.before(h.hits[up], h.hits[i]) {
				break
			}
			h.hits[up], h.hits[i] = h.hits[i], h.hits[up]
			i = up
		}
		return
	}
	h.hits[0] = hit
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.hits); c++ {
			if h.before(h.hits[worst], h.hits[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		h.hits[i], h.hits[worst] = h.hits[worst], h.hits[i]
		i = worst
	}
}
