package rank

import (
	"math"

	"github.com/cairndb/cairn/index/exact"
)

// fuse brings vectors and graph into the relevance.
//
// A real embedder's list and the words' list are each standardised over the rows they hold, and
// added; a row that one list lacks gets nothing from it, and a list without spread says nothing. The
// sum becomes a share by the logistic function. A hashed embedder repeats the words and is weaker, so
// its vectors only order what the words left without any relevance, below all that has some.
func (r *Ranker) fuse() {
	vectors, graph := false, false
	for i := range r.cands {
		vectors = vectors || r.cands[i].HasVector && !math.IsNaN(r.cands[i].Vector)
		graph = graph || r.cands[i].Graph > 0
	}
	if vectors && r.set.Fill {
		r.fill()
	}
	if vectors && !r.set.Fill && r.set.Vector > 0 {
		r.standardise()
	}
	if graph {
		for i := range r.clues {
			r.link(&r.clues[i])
		}
	}
}

// link brings the graph into a row's relevance.
func (r *Ranker) link(c *clue) {
	if g := r.cand(c).Graph; g > 0 && r.set.Graph > 0 {
		c.relevance += float64(float64(r.set.Graph*min(g, 1)) * (1 - c.relevance))
	}
}

// exactRelevance replaces a relevance computed with math.Exp, whose last bits differ between machines, by one of package exact.
func (r *Ranker) exactRelevance(c *clue) {
	if r.fused {
		c.relevance = 1 / (1 + exact.Exp(-(c.wordsZ+c.vectorZ)/2))
		r.link(c)
	}
}

// vector is a row's similarity, if it has one.
func (r *Ranker) vector(c *clue) (float64, bool) {
	k := r.cand(c)
	if !k.HasVector || math.IsNaN(k.Vector) {
		return 0, false
	}
	return max(0, min(k.Vector, 1)), true
}

// wordsOf is a row's relevance by words, if it has any.
func wordsOf(c *clue) (float64, bool) { return c.relevance, c.relevance > 0 }

func (r *Ranker) fill() {
	floor := 1.0
	for i := range r.clues {
		if rel, ok := wordsOf(&r.clues[i]); ok {
			floor = min(floor, rel)
		}
	}
	for i := range r.clues {
		if c := &r.clues[i]; c.relevance == 0 {
			// Half of the floor leaves room for the freshness and importance of a filled row.
			v, _ := r.vector(c)
			c.relevance = float64(float64(floor*.5) * v)
		}
	}
}

func (r *Ranker) standardise() {
	zw, zv := r.scale(wordsOf), r.scale(r.vector)
	r.fused = zw != nil
	for i := range r.clues {
		c := &r.clues[i]
		v, hasVector := r.vector(c)
		if zw == nil { // no words: the cosine itself
			c.relevance = v
			continue
		}
		if x, ok := wordsOf(c); ok {
			c.wordsZ = zw(x)
		}
		if hasVector {
			c.vectorZ = float64(r.set.Vector * zv(v))
		}
		c.relevance = 1 / (1 + math.Exp(-(c.wordsZ+c.vectorZ)/2))
	}
}

// scale returns what standardises a value of the list, nil when the list is empty.
func (r *Ranker) scale(of func(*clue) (float64, bool)) func(float64) float64 {
	var n float64
	var sum, squares exact.Sum
	for i := range r.clues {
		if x, ok := of(&r.clues[i]); ok {
			n++
			sum.Add(x)
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum.Value() / n
	for i := range r.clues {
		if x, ok := of(&r.clues[i]); ok {
			squares.Add(float64((x - mean) * (x - mean)))
		}
	}
	sd := math.Sqrt(squares.Value() / n)
	return func(x float64) float64 {
		if sd < 1e-9 {
			return 0
		}
		return (x - mean) / sd
	}
}
