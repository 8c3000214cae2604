package rank

import (
	"math"

	"github.com/cairndb/cairn/index/exact"
)

// How vectors join the words.
const (
	peers  = 16                    // rows found by words that it takes to know what chance does to a cosine
	chance = .8                    // of most: a row found by words has to exceed it
	beside = 3                     // the place of the row whose relevance a lift counts on, beside the lifted row's own
	filled = .5                    // of the least relevance by words: where rows without words begin, downwards
	equals = .01                   // of a row's own relevance, times its cosine: decides between equals
	spread = len(spreadShares) - 1 // places in the session that a lift reaches
)

// spreadShares holds the share of a lift that reaches a row, by how many places away it is.
var spreadShares = [...]float64{1, .5, .25}

// most returns how many deviations, about, the best of n random values lies above their mean.
func most(n float64) float64 { return math.Sqrt(2 * exact.Ln(max(n, 2))) }

// fuse brings vectors and graph into the relevance.
//
// A vector lifts a row and never takes anything off one. What it says is worth as much as it exceeds chance and the
// words: of the rows that words found, the part of a cosine that their own words explain is taken off, and what is
// left must stand out further than the best of as many random rows would, and further than the lowest row lies below
// the mean. So vectors that know nothing lift next to nothing, and those that repeat the words little; nothing has to
// be learned, or replicated, about the model.
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

// standOut says of each row by how much of what chance allows it exceeds that, 1 at most; of none where words found
// too few rows to know.
func (r *Ranker) standOut() {
	b := r.background()
	if b.n < peers || b.deviation < 1e-9 {
		return
	}
	least := max(float64(float64(chance*most(b.n))*b.deviation), b.mean-b.lowest)
	all := max(float64(most(float64(r.q.Rows))*b.deviation), least) // a row that the vector search chose is the best of all
	for i := range r.clues {
		c := &r.clues[i]
		v, ok := r.cosine(c)
		if !ok {
			continue
		}
		bar := least
		if c.relevance == 0 {
			bar = all
		}
		c.stands = max(0, min((v-float64(b.slope*math.Sqrt(c.own))-b.mean)/bar-1, 1))
	}
}

// A background describes how the cosines of the rows that words found are spread, after taking off what their own
// words explain: slope times the root of own.
type background struct{ n, slope, mean, deviation, lowest float64 }

func (r *Ranker) background() (b background) {
	var own, cosine, ownSquares, both, squares exact.Sum
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
	b.mean, b.lowest = meanCosine-float64(b.slope*meanOwn), math.Inf(1)
	each(func(o, v float64) {
		left := v - float64(b.slope*o)
		b.lowest = min(b.lowest, left)
		squares.Add(float64((left - b.mean) * (left - b.mean)))
	})
	b.deviation = math.Sqrt(squares.Value() / b.n)
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
					stands = max(stands, float64(spreadShares[by]*r.clues[n].stands))
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
