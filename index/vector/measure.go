package vector

import (
	"math"
	"runtime"
	"slices"
)

// measure returns the slack: how much farther from a question than the last wanted row the centroid of a wanted row's
// partition may lie, in thousandths of a cosine. share is the part of the rows that a question then compares.
// Questions are vectors of the store, and vectors between two of them, because real questions are not in the store.
// Each is asked without a filter, and with filters that leave a tenth and a hundredth of the rows: the nearest rows
// that a filter leaves lie farther off.
func (l *learner) measure(p *partitions) (slack int, share float64) {
	sizes := make([]float64, len(p.lists))
	a := p.assigner(l.s)
	for i := range l.sample.scale {
		sizes[a.of(l.sample.at(l.s, i))] += 1 / float64(len(l.sample.scale))
	}
	var unfiltered []distances
	need := 0.
	for _, oneIn := range []uint32{1, 10, 100} {
		for _, mixed := range []bool{false, true} {
			var needs []float64
			for i := range l.questions.scale {
				if l.ctx.Err() != nil {
					return 0, 1
				}
				runtime.Gosched()
				q := l.question(i, mixed, oneIn)
				if q == nil {
					continue
				}
				d := l.distances(p, a, q, l.questionRows[i])
				needs = append(needs, d.needs...)
				if oneIn == 1 {
					unfiltered = append(unfiltered, d)
				}
			}
			need = max(need, worst(needs))
		}
	}
	slack = int(math.Ceil(need * 1000))
	for _, d := range unfiltered {
		for n, cos := range d.centroids {
			if cos+float64(slack)/1000 >= d.least {
				share += sizes[n] / float64(len(unfiltered))
			}
		}
	}
	return slack, share
}

// question returns the i-th question of measure; nil if its vector has no direction.
func (l *learner) question(i int, mixed bool, oneIn uint32) *Query {
	unit := l.questions.floats(l.s, i)
	if mixed {
		for d, v := range l.questions.floats(l.s, (i+len(l.questions.scale)/2+1)%len(l.questions.scale)) {
			unit[d] += v / 2
		}
	}
	if unit = Unit(unit); unit == nil {
		return nil
	}
	q := Query{K: learnNearest + 1}
	if self := l.questionRows[i]; oneIn > 1 {
		q.Keep = func(all []uint32) []uint32 {
			return slices.DeleteFunc(all, func(row uint32) bool { return row%oneIn != self%oneIn })
		}
	}
	return l.s.Ask(unit, q)
}

// distances holds the measurements of a question: the cosines of all centroids, the cosine of the last wanted row
// (least), and for each wanted row the slack that it needs: least minus the cosine of its centroid.
type distances struct {
	centroids []float64
	least     float64
	needs     []float64
}

func (l *learner) distances(p *partitions, a *assigner, q *Query, self uint32) (d distances) {
	near := nearness{}
	near.of(l.s, &p.fine, q.int8s, 0, len(p.fine.weight))
	for _, n := range near.near {
		d.centroids = append(d.centroids, float64(n)*float64(q.scale)/(1<<30))
	}
	hits := slices.DeleteFunc(l.s.search(q, nil, nil), func(h Hit) bool { return h.Row == self })
	if len(hits) == 0 {
		return d
	}
	hits = hits[:min(len(hits), learnNearest)]
	d.least = hits[len(hits)-1].Sim
	for _, h := range hits {
		if b, slot, ok := l.s.find(h.Row); ok {
			d.needs = append(d.needs, d.least-d.centroids[a.of(b.int8s[slot*l.s.padded:(slot+1)*l.s.padded])])
		}
	}
	return d
}

// worst returns the largest number, apart from the few that may be missed.
func worst(n []float64) float64 {
	if len(n) == 0 {
		return 2
	}
	slices.Sort(n)
	return n[len(n)-1-len(n)*learnMissed/1000]
}

// floats returns the vector of an int8 form.
func (f *forms) floats(s *Store, i int) []float32 {
	v := make([]float32, s.dim)
	for d, x := range f.at(s, i)[:s.dim] {
		v[d] = float32(float64(x) * float64(f.scale[i]))
	}
	return v
}
