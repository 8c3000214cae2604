package text

import "github.com/cairndb/cairn/index/exact"

// The score of a row is
//
//	coord · Σ idf² · tf·(k1+1) / (tf + k1·(1−b+b·len/avg))
//
// where idf = exact.Ln(1+(N−df+.5)/(df+.5)) and coord is matched terms over query terms. N, df and the average length
// are counts over live rows: of the whole database, or of the groups that a query names (Query.Local).
//
// These are variables because the compiler would round constant sums, such as k1+1, otherwise.
var (
	bm25K1 = .9 // how slowly repetition saturates
	bm25B  = .4 // how much a text's length counts
)

// Totals are the exact counts over live rows that scoring rests on.
type Totals struct {
	Rows   uint64 // live rows
	Tokens uint64 // sum of their lengths
}

// idfSquared returns the weight of a term that df of n rows contain.
func idfSquared(n, df uint64) float64 {
	idf := exact.Ln(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
	return idf * idf
}

// lengthNorm returns the second summand of the denominator for a text of that length.
func lengthNorm(length uint16, t Totals) float64 {
	share := float64(bm25B * float64(uint64(length)*t.Rows) / float64(max(t.Tokens, 1)))
	return float64(bm25K1 * (1 - bm25B + share))
}

// saturation returns the factor that multiplies a term's weight. The conversions forbid fused operations, so that
// every architecture rounds alike.
func saturation(tf uint16, lengthNorm float64) float64 {
	f := float64(tf)
	return float64(f*(bm25K1+1)) / (f + lengthNorm)
}

// coord returns the factor for a row that matched so many of the terms.
func coord(matched, terms int) float64 { return float64(matched) / float64(terms) }

// A scale caches a query's saturations for common frequencies and lengths.
type scale struct {
	totals Totals
	norms  [scaleLengths]float64
	sats   [scaleTFs][scaleLengths]float64 // by tf-1; 0 is not computed yet
}

const scaleLengths, scaleTFs = 256, 4

// begin forgets the scale of another query.
func (s *scale) begin(t Totals) {
	s.totals = t
	clear(s.norms[:])
	clear(s.sats[:])
}

func (s *scale) of(tf, length uint16) float64 {
	if length >= scaleLengths {
		return saturation(tf, lengthNorm(length, s.totals))
	}
	if tf-1 >= scaleTFs {
		return saturation(tf, s.norm(length))
	}
	sat := &s.sats[tf-1][length]
	if *sat == 0 {
		*sat = saturation(tf, s.norm(length))
	}
	return *sat
}

func (s *scale) norm(length uint16) float64 {
	n := &s.norms[length]
	if *n == 0 {
		*n = lengthNorm(length, s.totals)
	}
	return *n
}
