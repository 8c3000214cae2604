package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// How vectors join the words.
const (
	minPeers      = 16                    // least number of rows found by words for the spread of cosines to be known
	outlierFrom   = 5                     // surprise from which a row stands out: chance brings it once in 150 questions
	maxRelief     = 7                     // outlierFrom falls by what the most surprising row exceeds it, by this at most
	outlierUnit   = 4.6                   // surprise for each 1 that a row stands out: a hundred times less likely
	maxOutlier    = 2                     // a row stands out by this at most
	minDeviations = 1.5                   // up to so many deviations above the middle no row stands out
	liftBase      = 3                     // a lift is a share of the row's own match plus that of the row at this place
	fillShare     = .5                    // rows without words start at this share of the least relevance by words
	upperFifth    = .8416                 // a fifth of a normal distribution lies so many deviations above the middle
	maxWidening   = 1.05                  // the spread above the middle counts up to this multiple of the one below
	equalsShare   = .01                   // of a row's own relevance, times its cosine: orders rows that are equal otherwise
	liftReach     = len(spreadShares) - 1 // places in the session that a lift reaches
)

// spreadShares holds the share of a lift that reaches a row, by how many places away it is.
var spreadShares = [...]float64{1, .25, .125}

// fuse brings vectors and graph into the relevance.
//
// A vector can lift a row and never lowers one. The part of a cosine that a row's own words explain is subtracted.
// The residual is compared with the middle and the spread of the residuals of the rows that words found. A row stands
// out the more, the less likely chance is to bring so many rows so high. When chance would never bring a question's
// best row, the model knows something about the question, and its other rows need less to stand out. So vectors
// without knowledge lift next to nothing, vectors that repeat the words lift little, and good ones decide. Nothing
// about the model has to be learned or replicated.
//
// Rows without relevance by words are ordered below all others, by their cosines, unless they stand out. The vectors
// of a hashed embedder repeat the words and are weaker: they only order those rows.
func (r *Ranker) fuse() {
	vectors, graph, words := false, false, false
	for i := range r.entries {
		c := &r.entries[i]
		_, hasVector := r.vector(c)
		vectors, graph, words = vectors || hasVector, graph || r.cand(c).Graph > 0, words || c.relevance > 0
	}
	switch lifts := r.set.Vector > 0 && !r.set.Fill; {
	case !vectors || !lifts && !r.set.Fill:
	case !words:
		for i := range r.entries {
			r.entries[i].relevance, _ = r.vector(&r.entries[i])
		}
	default:
		if lifts {
			r.findOutliers()
		}
		r.fillUnmatched()
		if lifts {
			r.lift()
		}
	}
	if graph && r.set.Graph > 0 {
		for i := range r.entries {
			c := &r.entries[i]
			c.relevance += float64(float64(r.set.Graph*min(r.cand(c).Graph, 1)) * (1 - c.relevance))
		}
	}
}

// cosine returns the cosine of a row's vector, if it has one.
func (r *Ranker) cosine(c *entry) (float64, bool) {
	k := r.cand(c)
	if !k.HasVector || math.IsNaN(k.Vector) {
		return 0, false
	}
	return max(-1, min(k.Vector, 1)), true
}

// vector returns a row's similarity: its cosine, where that is positive.
func (r *Ranker) vector(c *entry) (float64, bool) {
	v, ok := r.cosine(c)
	return max(0, v), ok
}

// outliers holds the buffers of findOutliers.
type outliers struct {
	residuals []float64 // cosines, less what the words explain, sorted
	above     []*entry  // rows over minDeviations, the farthest first
}

// findOutliers computes how far each row stands out from chance. No row does when words found fewer than minPeers.
func (r *Ranker) findOutliers() {
	b := r.background()
	if b.n < minPeers || b.deviation < 1e-9 {
		return
	}
	r.above = r.above[:0]
	for i := range r.entries {
		c := &r.entries[i]
		v, ok := r.cosine(c)
		if c.outlier = (v - float64(b.slope*math.Sqrt(c.words)) - b.middle) / b.deviation; ok && c.outlier > minDeviations {
			r.above = append(r.above, c)
		} else {
			c.outlier = 0
		}
	}
	slices.SortFunc(r.above, func(x, y *entry) int { return cmp.Or(cmp.Compare(y.outlier, x.outlier), x.RID.Compare(y.RID)) })
	found, rarest := 0, math.Inf(-1)
	for i, c := range r.above {
		among, place := float64(r.q.Rows), i+1 // the vector search chose it among all rows
		if c.relevance > 0 {
			found++
			among, place = b.n, found
		}
		c.outlier = surprise(c.outlier, among, place)
		rarest = max(rarest, c.outlier)
	}
	from := outlierFrom - min(max(rarest-outlierFrom, 0), maxRelief)
	for _, c := range r.above {
		c.outlier = max(0, min((c.outlier-from)/outlierUnit, maxOutlier))
	}
}

// surprise returns the negative logarithm of the probability that chance puts a row of this place so many deviations
// above the middle of all rows that it is among. From minDeviations on the tail of a normal distribution is close to
// its density over the distance.
func surprise(deviations, among float64, place int) float64 {
	tail := float64(deviations*deviations)/2 + exact.Ln(deviations*math.Sqrt(2*math.Pi))
	return tail - exact.Ln(max(among/float64(place), 1))
}

// A background describes how the cosines of the rows that words found are spread, after taking off what their own
// words explain: slope times the root of own.
type background struct{ n, slope, middle, deviation float64 }

func (r *Ranker) background() (b background) {
	var own, cosine, ownSquares, products exact.Sum
	each := func(f func(own, cosine float64)) {
		for i := range r.entries {
			if v, ok := r.cosine(&r.entries[i]); ok && r.entries[i].relevance > 0 {
				f(math.Sqrt(r.entries[i].words), v)
			}
		}
	}
	each(func(o, v float64) {
		b.n++
		own.Add(o)
		cosine.Add(v)
	})
	if b.n == 0 {
		return b
	}
	meanOwn, meanCosine := own.Value()/b.n, cosine.Value()/b.n
	each(func(o, v float64) {
		ownSquares.Add(float64((o - meanOwn) * (o - meanOwn)))
		products.Add(float64((o - meanOwn) * (v - meanCosine)))
	})
	if s := ownSquares.Value(); s > 1e-9 {
		b.slope = max(0, products.Value()/s)
	}
	r.residuals = r.residuals[:0]
	each(func(o, v float64) { r.residuals = append(r.residuals, v-float64(b.slope*o)) })
	slices.Sort(r.residuals)
	// Rows that answer lie above the middle, so that they do not widen the spread below it. The spread of few rows is
	// not known well.
	b.middle = r.residuals[len(r.residuals)/2]
	var squares exact.Sum
	half := r.residuals[:(len(r.residuals)+1)/2]
	for _, v := range half {
		squares.Add(float64((b.middle - v) * (b.middle - v)))
	}
	// The cosines of a model that knows little are skewed: unrelated rows lie farther above the middle than below. So
	// do rows that answer, so the spread above the middle may widen the result only a little.
	below, above := math.Sqrt(squares.Value()/float64(len(half))), (r.residuals[len(r.residuals)*4/5]-b.middle)/upperFifth
	b.deviation = max(below, min(above, maxWidening*below)) * (1 + 1/math.Sqrt(b.n))
	return b
}

// fillUnmatched orders the rows that words left without relevance below all others.
func (r *Ranker) fillUnmatched() {
	floor := 1.0
	for i := range r.entries {
		if rel := r.entries[i].relevance; rel > 0 {
			floor = min(floor, rel)
		}
	}
	for i := range r.entries {
		if c := &r.entries[i]; c.relevance == 0 {
			// Half of the floor leaves room for the freshness and importance of a filled row.
			v, _ := r.vector(c)
			c.relevance = float64(float64(floor*fillShare) * v)
		}
	}
}

// lift raises the rows that stand out, and their neighbours in the session by less. It raises all others by so little
// that only rows of equal relevance change places.
func (r *Ranker) lift() {
	best := odds(r.nthBest())
	for i := range r.entries {
		c := &r.entries[i]
		outlier := c.outlier
		for by := 1; by <= min(liftReach, r.set.Reach) && c.slot >= 0; by++ {
			for _, at := range [...]int{int(c.slot) - by, int(c.slot) + by} {
				if n := r.slots[at].entry; n >= 0 {
					outlier = max(outlier, float64(spreadShares[by]*min(r.entries[n].outlier, 1)))
				}
			}
		}
		x := odds(c.relevance)
		v, _ := r.vector(c)
		c.lift = float64(r.set.Vector * (float64(outlier*(x+best)) + float64(float64(equalsShare*v)*x)))
		c.relevance = (x + c.lift) / (1 + x + c.lift)
	}
}

// odds returns x for the relevance x/(1+x).
func odds(relevance float64) float64 { return relevance / (1 - relevance) }

// nthBest returns the relevance of the row at the place liftBase, or of the last when there are fewer.
func (r *Ranker) nthBest() float64 {
	var top [liftBase]float64 // falling
	for i := range r.entries {
		rel := r.entries[i].relevance
		for at := range top {
			if rel > top[at] {
				rel, top[at] = top[at], rel
			}
		}
	}
	return top[min(len(r.entries), liftBase)-1]
}
