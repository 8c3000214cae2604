package rank

import (
	"math"
	"slices"
)

// Where words alone ask, of texts of no session, a row's score has nothing to do with other rows, and frequencies and
// length say what it cannot exceed. Only the rows that may be among the K best become clues then, a tenth of a thousand
// or fewer; the others' columns are not even read.

// leaving are the buffers of that.
type leaving struct {
	left    int       // candidates that are left out
	atMost  []float64 // by candidate: mostMatch
	kept    []Candidate
	places  []int
	lengths [tableLengths]perLength
}

// tableLengths is for which lengths of texts the table has room.
const tableLengths = 256

// perLength holds what follows from a text's length alone.
type perLength struct {
	known          bool
	dense, norm    float64
	root           float64 // of dense
	factor         float64 // density's and shortness's
	once, oncePast float64 // a frequency of 1, saturated, and for the passage
}

// alone says whether the score of a row is its own affair, and the K best are wanted.
func (r *Ranker) alone() bool {
	if n, _ := r.corpus.Sessions(); n > 0 || r.q.List || r.q.K <= 0 || r.q.K > insertUpTo || r.q.K >= len(r.cands) || r.perfect <= 0 {
		return false
	}
	return !slices.ContainsFunc(r.cands, func(c Candidate) bool { return c.TF == nil || c.HasVector || c.Graph > 0 })
}

// leaveOut leaves out the candidates that cannot be among the K best: the K of the highest matches are scored, and
// give a bar.
func (r *Ranker) leaveOut() {
	all, k := r.cands, r.q.K
	clear(r.lengths[:])
	r.atMost = slices.Grow(r.atMost[:0], len(all))[:len(all)]
	r.places = r.places[:0]
	for i := range all {
		m := r.mostMatch(&all[i])
		r.atMost[i] = m
		if n := len(r.places); n == k && m <= r.atMost[r.places[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(r.places, m, func(i int, m float64) int {
			if r.atMost[i] >= m {
				return -1
			}
			return 1
		})
		if r.places = slices.Insert(r.places, at, i); len(r.places) > k {
			r.places = r.places[:k]
		}
	}
	r.kept = r.kept[:0]
	for _, i := range r.places {
		r.kept = append(r.kept, all[i])
	}
	r.cands = r.kept
	bar := r.leastScore()
	refused := 0.0 // what matches no better than a row that was refused is refused
	r.kept = r.kept[:0]
	for i, m := range r.atMost {
		if m <= refused {
			continue
		}
		if r.boundOf(m/(1+m), 1, bar) < bar {
			refused = m
			continue
		}
		r.kept = append(r.kept, all[i])
	}
	r.cands, r.left = r.kept, len(all)-len(r.kept)
}

// leastScore is the least score of the candidates.
func (r *Ranker) leastScore() float64 {
	r.enter()
	r.relevance()
	least := math.Inf(1)
	for i := range r.clues {
		r.score(&r.clues[i])
		least = min(least, r.clues[i].score)
	}
	return least
}

// mostMatch returns a bound that a row's match times its factor cannot exceed. The last bits of its sums may differ
// from the row's own: boundOf allows for that.
func (r *Ranker) mostMatch(c *Candidate) float64 {
	var far perLength
	l := &far
	if c.Length < tableLengths {
		l = &r.lengths[c.Length]
	}
	if !l.known {
		r.fillIn(l, float64(c.Length))
	}
	var own, passage, covered, coveredPast float64
	for i, tf := range c.TF[:min(len(c.TF), len(r.weight))] {
		switch {
		case tf == 0:
			continue
		case tf == 1:
			own += r.weight[i] * l.once
			passage += r.weight[i] * l.oncePast
			coveredPast += l.dense
		default:
			f := l.dense * float64(tf)
			own += r.weight[i] * r.saturate(float64(tf), l.norm)
			passage += r.weight[i] * r.saturate(f, l.norm)
			coveredPast += min(1, f)
		}
		covered++
	}
	return (r.matched(own, covered)*l.root + r.set.Passage*r.matched(passage, coveredPast)) * l.factor
}

// fillIn computes what follows from a length.
func (r *Ranker) fillIn(l *perLength, length float64) {
	*l = perLength{known: true, dense: 1}
	if r.whole > 0 && length > r.whole {
		l.dense = r.whole / length
	}
	l.norm, l.root = r.norm(length), math.Sqrt(l.dense)
	l.once, l.oncePast = r.saturate(1, l.norm), r.saturate(l.dense, l.norm)
	l.factor = math.Sqrt(l.root)
	if length < r.short {
		l.factor *= 1 - r.set.Short*(1-length/r.short)
	}
	for _, more := range [...]struct {
		may bool
		by  float64
	}{{r.set.Named > 0, r.set.Named}, {r.about.asker, r.set.Asker}, {r.q.When, r.set.When}, {r.q.Asked.Named(), r.set.Date}} {
		if more.may {
			l.factor *= 1 + max(more.by, 0)
		}
	}
}
