package text

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index/exact"
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
			out[i] = exact.Round(s.raw(&s.acc.cells[row]))
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

// top selects the K best rows, in order.
func (s *search) top(q Query) []Hit {
	hits := s.best(q)
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), tied(q.Tie, a.Row, b.Row))
	})
	return hits
}

// best selects the K best rows, in no order: from those above a score that K of them or a few more reach, and while Keep
// refuses too many of these, from those above a lower one.
func (s *search) best(q Query) []Hit {
	k := q.K
	if k <= 0 {
		k = 10
	}
	scores := s.spread()
	hits := make([]Hit, 0, min(k+k/4+16, len(scores.raw)))
	for upper, want, sure := math.Inf(1), k, 0; ; want *= 4 {
		lower := scores.reached(want)
		floor := lower - 2e-9 // what is rounded up to the last score is among them
		for i, raw := range scores.raw {
			if raw < floor || raw >= upper {
				continue
			}
			row := s.acc.touched[i]
			if q.Keep != nil && !q.Keep(row) {
				continue
			}
			hits = append(hits, Hit{Row: row, Score: exact.Round(raw), Matched: bits.OnesCount32(s.acc.cells[row].mask)})
			if raw >= lower {
				sure++
			}
		}
		if sure >= k || floor <= 0 {
			break
		}
		upper = floor
	}
	return cut(hits, k, q.Tie)
}

// explain fills the hits' term matches from the lists.
func (s *search) explain(hits []Hit) {
	defer s.acc.mark(hits)()
	scale := s.newScale()
	for _, t := range s.terms {
		weight := s.params.weight(s.totals.Rows, t.df)
		for _, list := range t.lists {
			for _, p := range list {
				if i := s.acc.marks[p.row]; i > 0 {
					hits[i-1].Terms = append(hits[i-1].Terms, TermMatch{
						Term: t.term, TF: p.tf, DF: t.df, Length: p.length,
						Part: float64(weight * scale.of(p.tf, p.length)),
					})
				}
			}
		}
	}
}

// A Found is what a query matches, in numbers: the terms that counted, how many rows have each and how often each row has
// each. Statistics are of the query's groups.
type Found struct {
	Terms  []TermStat // sorted; at most 32 of those asked for, the rarest
	Totals Totals
	Rows   []uint32
	TF     []uint16 // of row i and term j at i·len(Terms)+j
}

// Find returns the K best rows, in no order, and what a scorer of the caller's own needs of them.
func (x *Index) Find(q Query) (Found, error) {
	q.Params = &Params{Local: true}
	s, err := x.evaluate(q)
	if s == nil || err != nil {
		return Found{Totals: x.Totals(q.Groups...)}, err
	}
	defer s.release()
	f := Found{Totals: s.totals}
	for _, t := range s.terms {
		f.Terms = append(f.Terms, TermStat{t.term, t.df})
	}
	hits := s.best(q)
	defer s.acc.mark(hits)()
	f.Rows, f.TF = make([]uint32, len(hits)), make([]uint16, len(hits)*len(f.Terms))
	for i, h := range hits {
		f.Rows[i] = h.Row
	}
	for j, t := range s.terms {
		for _, list := range t.lists {
			for _, p := range list {
				if i := s.acc.marks[p.row]; i > 0 {
					f.TF[int(i-1)*len(f.Terms)+j] = p.tf
				}
			}
		}
	}
	return f, nil
}
