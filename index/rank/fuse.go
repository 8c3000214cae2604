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
func (e *evidence) fuse() {
	vectors := false
	for _, c := range e.rows {
		if c.HasVector && !math.IsNaN(c.Vector) {
			c.parts.Vector = max(0, min(c.Vector, 1))
			vectors = true
		}
	}
	if vectors && e.set.Fill {
		e.fill()
	}
	if vectors && !e.set.Fill && e.set.Vector > 0 {
		e.standardise()
	}
	for _, c := range e.rows {
		if c.Graph > 0 && e.set.Graph > 0 {
			p := &c.parts
			p.Graph = float64(e.set.Graph * min(c.Graph, 1))
			p.Relevance += float64(p.Graph * (1 - p.Relevance))
		}
	}
}

func (e *evidence) fill() {
	floor := 1.0
	for _, c := range e.rows {
		if c.parts.Relevance > 0 {
			floor = min(floor, c.parts.Relevance)
		}
	}
	for _, c := range e.rows {
		if c.parts.Relevance == 0 {
			// Half of the floor leaves room for the freshness and importance of a filled row.
			c.parts.Relevance = float64(float64(floor*.5) * c.parts.Vector)
		}
	}
}

func (e *evidence) standardise() {
	words := func(c *clue) (float64, bool) { return c.parts.Relevance, c.parts.Relevance > 0 }
	vector := func(c *clue) (float64, bool) { return c.parts.Vector, c.HasVector && !math.IsNaN(c.Vector) }
	zw, zv := e.scale(words), e.scale(vector)
	if zw == nil { // no words: the cosine itself
		for _, c := range e.rows {
			c.parts.Relevance = c.parts.Vector
		}
		return
	}
	for _, c := range e.rows {
		if x, ok := words(c); ok {
			c.parts.WordsZ = zw(x)
		}
		if x, ok := vector(c); ok {
			c.parts.VectorZ = float64(e.set.Vector * zv(x))
		}
		c.parts.Relevance = 1 / (1 + exact.Exp(-(c.parts.WordsZ+c.parts.VectorZ)/2))
	}
}

// scale returns what standardises a value of the list, nil when the list is empty.
func (e *evidence) scale(of func(*clue) (float64, bool)) func(float64) float64 {
	var n float64
	var sum, squares exact.Sum
	for _, c := range e.rows {
		if x, ok := of(c); ok {
			n++
			sum.Add(x)
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum.Value() / n
	for _, c := range e.rows {
		if x, ok := of(c); ok {
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
