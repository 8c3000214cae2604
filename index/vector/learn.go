package vector

import (
	"context"
	"math"
	"slices"
)

const (
	learnRows      = 16 << 10 // of which centroids are learned: with 384 dimensions 6 MiB
	learnRounds    = 10
	learnQuestions = 256
	learnNearest   = 10 // of each question: what recall is measured by
	learnMissed    = 4  // of a thousand of them may lie in partitions that are not looked at: less than the recall asked for leaves, .99

	// worthwhile is how many partitions a question may have to look at. Vectors without structure need nearly all.
	worthwhile = Partitions / 4
)

// Learn divides the vectors that there are by the centroids of a sample, and measures how many partitions hold the nearest to a question.
// It takes a second or two of one processor, and returns nil when ctx ends. It may run beside everything else.
func (s *Store) Learn(ctx context.Context) *Partition {
	rows, sample := s.sample()
	if len(sample) < Partitions {
		return nil
	}
	// Questions are none of what is learned of: a vector pulls the centroid it is learned with towards itself.
	var asked []uint32
	var questions, learn []Prepared
	for i, x := range sample {
		if i%16 == 7 {
			asked, questions = append(asked, rows[i]), append(questions, x)
		} else {
			learn = append(learn, x)
		}
	}
	sample = learn
	p := &partitions{centroids: make([]int8, Partitions*s.padded)}
	for i := range Partitions {
		copy(p.centroids[i*s.padded:], sample[i*len(sample)/Partitions].int8s)
		p.weigh(s, i)
	}
	for range learnRounds {
		if !p.improve(ctx, s, sample) {
			return nil
		}
	}
	all, filtered := p.measure(ctx, s, asked, questions, sample)
	if ctx.Err() != nil {
		return nil
	}
	out := &Partition{Rows: s.Len()}
	if probe := all.partitions + all.partitions/2 + 1; probe <= worthwhile {
		out.Probe, out.Least = probe, max(filtered.rows, all.rows)
		for i := range Partitions {
			out.Centroids = append(out.Centroids, p.centroids[i*s.padded:][:s.dim]...)
		}
	}
	return out
}

// sample copies the forms of live rows at even distances.
func (s *Store) sample() (rows []uint32, sample []Prepared) {
	every, n := max(1, s.Len()/learnRows), 0
	table := *s.blocks.Load()
	for at, b := range table {
		eachLive(b, func(slot int) {
			if n++; n%every == 0 {
				rows = append(rows, uint32(at*blockRows+b.row(slot)))
				sample = append(sample, Prepared{int8s: slices.Clone(b.int8s[slot*s.padded : (slot+1)*s.padded]), scale: b.scale[slot]})
			}
		})
	}
	return rows, sample
}

// improve moves every centroid to the middle of the vectors that lie nearest to it; one that has none goes to one of the sample.
func (p *partitions) improve(ctx context.Context, s *Store, sample []Prepared) bool {
	sums, counts := make([]int64, Partitions*s.padded), [Partitions]int{}
	for i, x := range sample {
		if i%256 == 0 && ctx.Err() != nil {
			return false
		}
		n := int(p.nearest(s, x.int8s))
		counts[n]++
		worth := int64(float64(x.scale) * (1 << 24))
		for d, v := range x.int8s {
			sums[n*s.padded+d] += int64(v) * worth
		}
	}
	for n := range Partitions {
		c, sum := p.centroids[n*s.padded:(n+1)*s.padded], sums[n*s.padded:(n+1)*s.padded]
		var top int64
		for _, v := range sum {
			top = max(top, v, -v)
		}
		if counts[n] == 0 || top == 0 {
			copy(c, sample[(2*n+1)*len(sample)/(2*Partitions)].int8s)
		} else {
			for d, v := range sum {
				c[d] = int8(math.RoundToEven(float64(v) * 127 / float64(top)))
			}
		}
		p.weigh(s, n)
	}
	return true
}

// A demand is how much a question has to look at to find what is nearest.
type demand struct{ partitions, rows int }

// measure finds what questions demand, each without a filter, and with filters that leave a tenth and a hundredth of the rows: the nearest that a
// filter leaves lie farther off. Questions are vectors of the store, and, because real ones are none of them, vectors between one and
// another.
func (p *partitions) measure(ctx context.Context, s *Store, rows []uint32, questions, sample []Prepared) (all, filtered demand) {
	var sizes [Partitions]float64
	for _, x := range sample {
		sizes[p.nearest(s, x.int8s)] += float64(s.Len()) / float64(len(sample))
	}
	for _, share := range []uint32{1, 10, 100} {
		for _, mixed := range []bool{false, true} {
			var places, seen []int
			for i := range learnQuestions {
				if ctx.Err() != nil {
					return all, filtered
				}
				at := i * len(questions) / learnQuestions
				unit := questions[at].floats(s.dim)
				if mixed {
					for d, v := range questions[(at+len(questions)/2+1)%len(questions)].floats(s.dim) {
						unit[d] += v / 2
					}
				}
				if unit = Unit(unit); unit == nil {
					continue
				}
				q := Query{K: learnNearest + 1}
				if share > 1 {
					q.Keep = func(all []uint32) []uint32 {
						return slices.DeleteFunc(all, func(row uint32) bool { return row%share != rows[at]%share })
					}
				}
				near, behind := p.found(s, s.Ask(unit, q), rows[at], &sizes)
				for i, place := range near {
					places, seen = append(places, place+1), append(seen, int(behind[i]/float64(share))+1)
				}
			}
			most := demand{worst(places), worst(seen)}
			if share == 1 {
				all.partitions, all.rows = max(all.partitions, most.partitions), max(all.rows, most.rows)
			} else {
				filtered.partitions, filtered.rows = max(filtered.partitions, most.partitions), max(filtered.rows, most.rows)
			}
		}
	}
	return all, filtered
}

// found says in which partition of its order a question finds each of the nearest rows, and how many rows are in those up to there.
func (p *partitions) found(s *Store, q *Query, self uint32, sizes *[Partitions]float64) (places []int, behind []float64) {
	var place [Partitions]int
	var rows [Partitions]float64
	sum := 0.
	for k, n := range p.order(s, q.int8s) {
		sum += sizes[n]
		place[n], rows[k] = k, sum
	}
	for _, h := range s.search(q, nil, nil) {
		if b, slot, ok := s.find(h.Row); ok && h.Row != self {
			at := place[p.nearest(s, b.int8s[slot*s.padded:(slot+1)*s.padded])]
			places, behind = append(places, at), append(behind, rows[at])
		}
	}
	return places, behind
}

// worst is the largest number but for the few that may be missed.
func worst(n []int) int {
	if len(n) == 0 {
		return math.MaxInt32
	}
	slices.Sort(n)
	return n[len(n)-1-len(n)*learnMissed/1000]
}

// floats is the vector that an int8 form stands for.
func (p Prepared) floats(dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(float64(p.int8s[i]) * float64(p.scale))
	}
	return v
}
