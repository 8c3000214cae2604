package text

import (
	"cmp"
	"slices"
	"strings"
)

// maxTerms limits the terms of a query that are scored: those with the highest idf.
const maxTerms = 32

// A Query asks for the K best rows. Its terms are Terms, or those of Text.
type Query struct {
	Text   string
	Terms  []string // analysed terms; used when not nil
	Groups []uint32 // only rows of these groups; empty is every group
	Exact  bool     // a term that no row has finds nothing; by default it is replaced (unknown.go)
	MaxDF  int      // leave out terms that more rows have, without reading their postings; 0: none
	// Keep rejects rows. It is called for rows that would be in the result, not for every match.
	Keep func(row uint32) bool
	// Rows of equal score go by Order, lower first, then by Tie, negative for a first, then by number. Both may be
	// nil. Thousands of rows may have one score, so Order should tell most of them apart.
	Order func(row uint32) int64
	Tie   func(a, b uint32) int
	K     int  // 10
	Local bool // take the statistics from the rows of Groups instead of the whole database
}

// A Hit is a row and its score. Matched counts the query's terms in it.
type Hit struct {
	Row     uint32
	Score   float64
	Matched int
}

// Search returns the best rows for a query, best first. The answer is a function of
// the live rows alone: neither batches nor merges nor restarts change a bit of it.
func (x *Index) Search(q Query) ([]Hit, error) {
	s, err := x.evaluate(q)
	if s == nil || err != nil {
		return nil, err
	}
	defer s.release()
	chosen := s.choose(q)
	slices.SortFunc(chosen, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.key, b.key), q.tied(a.row, b.row)) })
	hits := make([]Hit, len(chosen))
	for i, r := range chosen {
		hits[i] = Hit{Row: r.row, Score: r.score(), Matched: s.matched(r.at)}
	}
	return hits, nil
}

// A TermStat is a term's document frequency, and the share of its weight that counts.
type TermStat struct {
	Term  string
	DF    uint64
	Share float64
}

// evaluate gathers the postings of a query's terms, and replaces unknown terms.
func (x *Index) evaluate(q Query) (*search, error) {
	s, err := x.gather(q)
	if s == nil || err != nil {
		return nil, err
	}
	if !q.Exact {
		if err := s.replaceUnknown(); err != nil {
			s.release()
			return nil, x.reportDamage(err)
		}
	}
	s.keepRarest()
	return s, nil
}

// keepRarest keeps the maxTerms terms with the highest idf. Terms that no row has come last.
func (s *search) keepRarest() {
	if len(s.terms) <= maxTerms {
		return
	}
	slices.SortFunc(s.terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(a.df-1, b.df-1), strings.Compare(a.term, b.term)) // 0-1 is the largest
	})
	s.terms = s.terms[:maxTerms]
	slices.SortFunc(s.terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
}

// matched counts the terms that a hit has.
func (s *search) matched(at uint32) (n int) {
	for _, tf := range s.results.tfs[int(at)*len(s.terms):][:len(s.terms)] {
		if tf > 0 {
			n++
		}
	}
	return n
}

// A Found describes what a query matches, in numbers: the terms that counted, how many rows have each and how often
// each row has each. Statistics are of the query's groups.
type Found struct {
	Terms   []TermStat // sorted; at most 32 of those requested, the rarest
	Totals  Totals
	Rows    []uint32 // by number
	Lengths []uint16 // of each row
	TF      []uint16 // of row i and term j at i·len(Terms)+j
}

// Find fills f with the K best rows and what a scorer of the caller's own needs of them. f's buffers are reused.
func (x *Index) Find(q Query, f *Found) error {
	f.Terms, f.Rows, f.Lengths, f.TF = f.Terms[:0], f.Rows[:0], f.Lengths[:0], f.TF[:0]
	q.Local = true
	s, err := x.evaluate(q)
	if s == nil || err != nil {
		f.Totals = x.Totals(q.Groups...)
		return err
	}
	defer s.release()
	f.Totals = s.totals
	for _, t := range s.terms {
		f.Terms = append(f.Terms, TermStat{t.term, t.df, t.share})
	}
	n, b := len(f.Terms), &s.results
	chosen := s.choose(q)
	b.chosen = slices.Grow(b.chosen[:0], len(b.rows))[:len(b.rows)]
	clear(b.chosen)
	for _, r := range chosen {
		b.chosen[r.at] = true
	}
	for i, row := range b.rows {
		if b.chosen[i] {
			f.Rows = append(f.Rows, row)
			f.Lengths = append(f.Lengths, b.lengths[i])
			f.TF = append(f.TF, b.tfs[i*n:(i+1)*n]...)
		}
	}
	return nil
}
