package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// How vectors join the words.
const (
	peers  = 16                    // rows found by words that it takes to know what chance does to a cosine
	doubt  = 5                     // surprise from which a row stands out: chance brings it once in 150 questions
	trust  = 7                     // the most that doubt falls, by as much as the first row exceeds it
	sure   = 4.6                   // how much more surprising a row must be to stand out by 1: a hundred times
	most   = 2                     // how far a row stands out at most
	rare   = 1.5                   // deviations up to which nothing stands out
	beside = 3                     // the place of the row whose relevance a lift counts on, beside the lifted row's own
	filled = .5                    // of the least relevance by words: where rows without words begin, downwards
	fifth  = .8416                 // deviations above the middle that a fifth of a normal distribution exceeds
	widest = 1.05                  // of the spread below the middle: the most that the one above it counts
	equals = .01                   // of a row's own relevance, times its cosine: decides between equals
	spread = len(spreadShares) - 1 // places in the session that a lift reaches
)

// spreadShares holds the share of a lift that reaches a row, by how many places away it is.
var spreadShares = [...]float64{1, .25, .125}

// fuse brings vectors and graph into the relevance.
//
// A vector lifts a row and never takes anything off one. What it says is worth as much as it exceeds chance and the
// words. The part of a cosine that a row's own words explain is taken off. What is left is compared with the middle and
// the spread of the rows that words found: a row stands out as far as chance would seldom bring so many rows so high.
// A question with a row that chance never brings has a model that knows something, and its other rows need less. So
// vectors that know nothing lift next to nothing, those that repeat the words little, and those that know much decide;
// nothing has to be learned, or replicated, about the model.
//
// Rows that words leave without relevance come below all others, by their cosines, unless they stand out of all rows.
// A hashed embedder repeats the words and is weaker: its vectors do only that.
func (r *Ranker) fuse() {
	vectors, graph, words := false, false, false
	for i := range r.clues {
		c := &r.clues[i]
		_, has := r.vector(c)
		vectors, graph, words = vectors || has, graph || r.cand(c).Graph > 0, words || c.relevance > 0
	}
	switch lifts := r.set.Vector > 0 && !r.set.Fill; {
	case !vectors || !lifts && !r.set.Fill:
	case !words:
		for i := range r.clues {
			r.clues[i].relevance, _ = r.vector(&r.clues[i])
		}
	default:
		if lifts {
			r.standOut()
		}
		r.fill()
		if lifts {
			r.lift()
		}
	}
	if graph && r.set.Graph > 0 {
		for i := range r.clues {
			c := &r.clues[i]
			c.relevance += float64(float64(r.set.Graph*min(r.cand(c).Graph, 1)) * (1 - c.relevance))
		}
	}
}

// cosine returns the cosine of a row's vector, if it has one.
func (r *Ranker) cosine(c *clue) (float64, bool) {
	k := r.cand(c)
	if !k.HasVector || math.IsNaN(k.Vector) {
		return 0, false
	}
	return max(-1, min(k.Vector, 1)), true
}

// vector is a row's similarity: its cosine, where that is positive.
func (r *Ranker) vector(c *clue) (float64, bool) {
	v, ok := r.cosine(c)
	return max(0, v), ok
}

// outliers is room for what standOut compares.
type outliers struct {
	beyond []float64 // cosines, less what the words explain
	rising []*clue
}

// standOut says of each row how far it stands out of what chance does; of none where words found too few rows to know.
func (r *Ranker) standOut() {
	b := r.background()
	if b.n < peers || b.deviation < 1e-9 {
		return
	}
	r.rising = r.rising[:0]
	for i := range r.clues {
		c := &r.clues[i]
		v, ok := r.cosine(c)
		if c.stands = (v - float64(b.slope*math.Sqrt(c.own)) - b.middle) / b.deviation; ok && c.stands > rare {
			r.rising = append(r.rising, c)
		} else {
			c.stands = 0
		}
	}
	slices.SortFunc(r.rising, func(x, y *clue) int { return cmp.Or(cmp.Compare(y.stands, x.stands), x.RID.Compare(y.RID)) })
	found, rarest := 0, math.Inf(-1)
	for i, c := range r.rising {
		among, place := float64(r.q.Rows), i+1 // a row that the vector search chose is the best of all
		if c.relevance > 0 {
			found++
			among, place = b.n, found
		}
		c.stands = surprise(c.stands, among, place)
		rarest = max(rarest, c.stands)
	}
	from := doubt - min(max(rarest-doubt, 0), trust)
	for _, c := range r.rising {
		c.stands = max(0, min((c.stands-from)/sure, most))
	}
}

// surprise is the natural logarithm of how seldom chance brings a row of its place so many deviations above the middle
// of all that it is among. From rare on the tail of a normal distribution is close to its density over the distance.
func surprise(deviations, among float64, place int) float64 {
	tail := float64(deviations*deviations)/2 + exact.Ln(deviations*math.Sqrt(2*math.Pi))
	return tail - exact.Ln(max(among/float64(place), 1))
}

// A background describes how the cosines of the rows that words found are spread, after taking off what their own
// words explain: slope times the root of own.
type background struct{ n, slope, middle, deviation float64 }

func (r *Ranker) background() (b background) {
	var own, cosine, ownSquares, both exact.Sum
	each := func(f func(own, cosine float64)) {
		for i := range r.clues {
			if v, ok := r.cosine(&r.clues[i]); ok && r.clues[i].relevance > 0 {
				f(math.Sqrt(r.clues[i].own), v)
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
		both.Add(float64((o - meanOwn) * (v - meanCosine)))
	})
	if s := ownSquares.Value(); s > 1e-9 {
		b.slope = max(0, both.Value()/s)
	}
	r.beyond = r.beyond[:0]
	each(func(o, v float64) { r.beyond = append(r.beyond, v-float64(b.slope*o)) })
	slices.Sort(r.beyond)
	// What answers lies above the middle, and widens nothing below it. Of few rows the spread is not known well.
	b.middle = r.beyond[len(r.beyond)/2]
	var squares exact.Sum
	half := r.beyond[:(len(r.beyond)+1)/2]
	for _, v := range half {
		squares.Add(float64((b.middle - v) * (b.middle - v)))
	}
	// The cosines of a model that knows little are skewed: unrelated rows lie farther above the middle than below. Rows
	// that answer do so as well, so that this widens the spread by little.
	below, above := math.Sqrt(squares.Value()/float64(len(half))), (r.beyond[len(r.beyond)*4/5]-b.middle)/fifth
	b.deviation = max(below, min(above, widest*below)) * (1 + 1/math.Sqrt(b.n))
	return b
}

// fill orders the rows that words left without relevance below all others.
func (r *Ranker) fill() {
	floor := 1.0
	for i := range r.clues {
		if rel := r.clues[i].relevance; rel > 0 {
			floor = min(floor, rel)
		}
	}
	for i := range r.clues {
		if c := &r.clues[i]; c.relevance == 0 {
			// Half of the floor leaves room for the freshness and importance of a filled row.
			v, _ := r.vector(c)
			c.relevance = float64(float64(floor*filled) * v)
		}
	}
}

// lift raises the rows that stand out, those beside them less, and all others by so little that only equals change
// places.
func (r *Ranker) lift() {
	best := odds(r.nthBest())
	for i := range r.clues {
		c := &r.clues[i]
		stands := c.stands
		for by := 1; by <= min(spread, r.set.Reach) && c.spot >= 0; by++ {
			for _, at := range [...]int{int(c.spot) - by, int(c.spot) + by} {
				if n := r.spots[at].clue; n >= 0 {
					stands = max(stands, float64(spreadShares[by]*min(r.clues[n].stands, 1)))
				}
			}
		}
		x := odds(c.relevance)
		v, _ := r.vector(c)
		c.lift = float64(r.set.Vector * (float64(stands*(x+best)) + float64(float64(equals*v)*x)))
		c.relevance = (x + c.lift) / (1 + x + c.lift)
	}
}

// odds turn a relevance back into what it was made of: x/(1+x) into x.
func odds(relevance float64) float64 { return relevance / (1 - relevance) }

// nthBest is the relevance of the row at the place beside, or of the last when there are fewer.
func (r *Ranker) nthBest() float64 {
	var top [beside]float64 // falling
	for i := range r.clues {
		rel := r.clues[i].relevance
		for at := range top {
			if rel > top[at] {
				rel, top[at] = top[at], rel
			}
		}
	}
	return top[min(len(r.clues), beside)-1]
}
