package rank

import (
	"math"
	"slices"
)

// When a question has words alone and no row belongs to a session, a row's score does not depend on other rows, and
// its frequencies and length bound it. Only the rows that may be among the K best then become entries: a tenth of a
// thousand or fewer. The columns of the others are not read.

// pruning holds the buffers for that.
type pruning struct {
	pruned  int       // candidates that are left out
	bounds  []float64 // by candidate: maxMatch
	kept    []Candidate
	places  []int
	lengths [tableLengths]perLength
}

// tableLengths is the number of lengths that the table has room for: longer texts are computed each time.
const tableLengths = 256

// perLength holds what follows from a text's length alone.
type perLength struct {
	known          bool
	dense, norm    float64
	root           float64 // of dense
	factor         float64 // density's and shortness's
	once, oncePast float64 // a frequency of 1, saturated, and for the passage
}

// independent reports whether no score depends on another row, and only the K best rows are wanted.
func (r *Ranker) independent() bool {
	if n, _ := r.corpus.Sessions(); n > 0 || r.q.List || r.q.K <= 0 || r.q.K > insertUpTo || r.q.K >= len(r.cands) || r.perfect <= 0 {
		return false
	}
	return !slices.ContainsFunc(r.cands, func(c Candidate) bool { return c.TF == nil || c.HasVector || c.Graph > 0 })
}

// prune leaves out the candidates that cannot be among the K best. It scores the K candidates with the highest
// bounds: the least of these scores is the threshold that the bounds of the others have to reach.
func (r *Ranker) prune() {
	all, k := r.cands, r.q.K
	clear(r.lengths[:])
	r.bounds = slices.Grow(r.bounds[:0], len(all))[:len(all)]
	r.places = r.places[:0]
	for i := range all {
		m := r.maxMatch(&all[i])
		r.bounds[i] = m
		if n := len(r.places); n == k && m <= r.bounds[r.places[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(r.places, m, func(i int, m float64) int {
			if r.bounds[i] >= m {
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
	threshold := r.minScore()
	rejected := 0.0 // the highest bound that was rejected: no lower one is looked at
	r.kept = r.kept[:0]
	for i, m := range r.bounds {
		if m <= rejected {
			continue
		}
		if r.boundOf(m/(1+m), 1, threshold) < threshold {
			rejected = m
			continue
		}
		r.kept = append(r.kept, all[i])
	}
	r.cands, r.pruned = r.kept, len(all)-len(r.kept)
}

// minScore scores the candidates and returns the least score.
func (r *Ranker) minScore() float64 {
	r.addCandidates()
	r.relevance()
	least := math.Inf(1)
	for i := range r.entries {
		r.score(&r.entries[i])
		least = min(least, r.entries[i].score)
	}
	return least
}

// maxMatch returns a bound that a row's match times its factor cannot exceed. The last bits of its sums may differ
// from the row's own: boundOf allows for that.
func (r *Ranker) maxMatch(c *Candidate) float64 {
	var uncached perLength
	l := &uncached
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
	if r.longFrom > 0 && length > r.longFrom {
		l.dense = r.longFrom / length
	}
	l.norm, l.root = r.norm(length), math.Sqrt(l.dense)
	l.once, l.oncePast = r.saturate(1, l.norm), r.saturate(l.dense, l.norm)
	l.factor = math.Sqrt(l.root)
	if length < r.shortBelow {
		l.factor *= 1 - r.set.Short*(1-length/r.shortBelow)
	}
	for _, factor := range [...]struct {
		applies bool
		by      float64
	}{{r.set.Named > 0, r.set.Named}, {r.about.asker, r.set.Asker}, {r.q.When, r.set.When}, {r.q.Asked.Named(), r.set.Date}} {
		if factor.applies {
			l.factor *= 1 + max(factor.by, 0)
		}
	}
}
