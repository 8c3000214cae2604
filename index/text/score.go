package text

import (
	"cmp"

	"github.com/cairndb/cairn/index/exact"
)

// Params are the settings of the scoring formula
//
//	score = coord · Σ idf^p · tf·(k1+1) / (tf + k1·(1−b+b·len/avg))
//
// where idf = exact.Ln(1+(N−df+.5)/(df+.5)) and coord is matched terms over query terms.
// The zero value means the defaults beside the fields.
type Params struct {
	K1 float64 // .9; how slowly repetition saturates
	B  float64 // .4; how much length counts, 0 < B <= 1; negative means 0
	P  float64 // 2; exponent of idf
	// Local takes N, df and the average length from the live rows of the groups
	// that a query names. By default they come from the whole database.
	Local bool
}

func (p Params) withDefaults() Params {
	p.K1 = cmp.Or(p.K1, .9)
	p.B = max(cmp.Or(p.B, .4), 0)
	p.P = cmp.Or(p.P, 2)
	return p
}

// Totals are the exact counts over live rows that scoring rests on.
type Totals struct {
	Rows   uint64 // live rows
	Tokens uint64 // sum of their lengths
}

// weight is idf^p of a term that df of n rows contain.
func (p Params) weight(n, df uint64) float64 {
	idf := exact.Ln(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
	switch p.P {
	case 1:
		return idf
	case 2:
		return idf * idf
	}
	return exact.Exp(p.P * exact.Ln(idf))
}

// lengthNorm is the second summand of the denominator for a text of that length.
func (p Params) lengthNorm(length uint16, t Totals) float64 {
	share := float64(p.B * float64(uint64(length)*t.Rows) / float64(max(t.Tokens, 1)))
	return float64(p.K1 * (1 - p.B + share))
}

// saturation returns the factor that multiplies a term's weight. The conversions forbid fused operations, so that
// every architecture rounds alike.
func (p Params) saturation(tf uint16, lengthNorm float64) float64 {
	f := float64(tf)
	return float64(f*(p.K1+1)) / (f + lengthNorm)
}

// coord is the factor for a row that matched so many of the terms.
func coord(matched, terms int) float64 { return float64(matched) / float64(terms) }

// A scale is a query's saturations; those of common frequencies and lengths are computed once.
type scale struct {
	params Params
	totals Totals
	norms  [scaleLengths]float64
	sats   [scaleTFs][scaleLengths]float64 // by tf-1; 0 is not computed yet
}

const scaleLengths, scaleTFs = 256, 4

// begin forgets the scale of another query.
func (s *scale) begin(p Params, t Totals) {
	s.params, s.totals = p, t
	clear(s.norms[:])
	clear(s.sats[:])
}

func (s *scale) of(tf, length uint16) float64 {
	if length >= scaleLengths {
		return s.params.saturation(tf, s.params.lengthNorm(length, s.totals))
	}
	if tf-1 >= scaleTFs {
		return s.params.saturation(tf, s.norm(length))
	}
	sat := &s.sats[tf-1][length]
	if *sat == 0 {
		*sat = s.params.saturation(tf, s.norm(length))
	}
	return *sat
}

func (s *scale) norm(length uint16) float64 {
	n := &s.norms[length]
	if *n == 0 {
		*n = s.params.lengthNorm(length, s.totals)
	}
	return *n
}
