package vector

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

const (
	learnRounds    = 6
	learnEach      = 32 // rows of the sample for each partition
	learnLeast     = 16 << 10
	learnQuestions = 256
	learnNearest   = 10 // of each question: recall is measured by them
	learnMissed    = 3  // of a thousand nearest rows may be missed: fewer than the wanted recall, .99, allows
)

// partitionsFor returns the number of partitions for n vectors: a question is compared with each centroid, and then
// with the rows of a few.
func partitionsFor(n, dim int) int {
	parts := int(4 * math.Sqrt(float64(n)))
	return max(1, min((parts+63)/64*64, oplog.MaxPartitions, oplog.MaxCentroids/dim))
}

// Learn finds centroids of a sample of the vectors, and measures how far from a question a search has to look. It
// uses one processor for some seconds and yields it again and again. It returns nil when ctx ends, and for a store
// with too few rows. It may run during everything else.
func (s *Store) Learn(ctx context.Context) *Partition {
	l := learner{s: s, ctx: ctx, rows: s.Len()} // rows come and go meanwhile
	if l.rows == 0 {
		return nil
	}
	l.parts = partitionsFor(l.rows, s.dim)
	l.drawSample()
	if len(l.sample.scale) < l.parts {
		return nil
	}
	out := &Partition{Rows: s.Len()}
	out.Groups, out.Centroids = l.centroids()
	if ctx.Err() != nil {
		return nil
	}
	slack, share := l.measure(s.newPartitions(out))
	if ctx.Err() != nil {
		return nil
	}
	if out.Slack = slack; share*probeRows > 1 {
		out.Slack, out.Groups, out.Centroids = 0, nil, nil
	}
	return out
}

// A learner divides the vectors of one store.
type learner struct {
	s            *Store
	ctx          context.Context
	rows         int // when it began
	parts        int
	sample       forms
	questionRows []uint32 // the rows of questions
	questions    forms
	chosen       []int // of the sample: the centroid each belongs to
}

// forms holds int8 vectors, one after the other, and their scales.
type forms struct {
	int8s []int8
	scale []float32
}

func (f *forms) add(int8s []int8, scale float32) {
	f.int8s, f.scale = append(f.int8s, int8s...), append(f.scale, scale)
}

func (f *forms) at(s *Store, i int) []int8 { return f.int8s[i*s.padded : (i+1)*s.padded] }

// drawSample copies the forms of live rows at even distances. Questions are not part of the sample: a vector pulls
// the centroid that is learned from it towards itself.
func (l *learner) drawSample() {
	s := l.s
	want := min(l.rows, max(learnLeast, learnEach*l.parts))
	l.sample.int8s = make([]int8, 0, want*s.padded)
	every, n := max(1, l.rows/want), 0
	ask := max(2, want/learnQuestions)
	for at, b := range *s.blocks.Load() {
		eachLive(b, func(slot int) {
			form := b.int8s[slot*s.padded : (slot+1)*s.padded]
			switch n++; {
			case n%every != 0:
			case n/every%ask == ask/2:
				l.questionRows = append(l.questionRows, uint32(at*blockRows+b.row(slot)))
				l.questions.add(form, b.scale[slot])
			case len(l.sample.scale) < want:
				l.sample.add(form, b.scale[slot])
			}
		})
		runtime.Gosched()
	}
}

// centroids finds centroids of the sample: of groups, then within each group, by how many rows it has; then it moves
// them once more, each row counting for the one that it will be assigned to.
func (l *learner) centroids() (groups, fine []int8) {
	all := make([]int, len(l.sample.scale))
	for i := range all {
		all[i] = i
	}
	g := l.kMeans(all, int(math.Sqrt(float64(nearGroups*l.parts))))
	members := make([][]int, len(g.weight))
	for at, n := range l.chosen {
		members[n] = append(members[n], all[at])
	}
	var f centroids
	seen, assigned := 0, 0
	for _, m := range members {
		seen += len(m)
		parts := min(len(m), l.parts*seen/len(all)-assigned)
		assigned += parts
		if parts == 0 {
			continue
		}
		c := l.kMeans(m, parts)
		f.int8s, f.weight = append(f.int8s, c.int8s...), append(f.weight, c.weight...)
	}
	for range 3 {
		p := l.s.newPartitions(&Partition{Groups: l.unpadded(&g), Centroids: l.unpadded(&f)})
		a := p.assigner(l.s)
		f = p.fine
		l.moveCentroids(&f, all, func(x []int8) int { return int(a.of(x)) })
	}
	return l.unpadded(&g), l.unpadded(&f)
}

func (l *learner) unpadded(c *centroids) []int8 {
	var out []int8
	for i := range c.weight {
		out = append(out, c.at(l.s, i)[:l.s.dim]...)
	}
	return out
}

// kMeans finds centroids of some rows of the sample by k-means.
func (l *learner) kMeans(rows []int, parts int) centroids {
	parts = max(1, min(parts, len(rows)))
	c := centroids{make([]int8, parts*l.s.padded), make([]int64, parts)}
	for i := range parts {
		copy(c.at(l.s, i), l.sample.at(l.s, rows[i*len(rows)/parts]))
		c.weigh(l.s, i)
	}
	near := nearness{}
	for range learnRounds {
		l.moveCentroids(&c, rows, func(x []int8) (best int) {
			near.of(l.s, &c, x, 0, parts)
			for i, v := range near.near {
				if v > near.near[best] {
					best = i
				}
			}
			return best
		})
	}
	return c
}

// moveCentroids moves every centroid to the middle of the vectors that belong to it. A centroid without vectors moves
// to one of the rows.
func (l *learner) moveCentroids(c *centroids, rows []int, nearest func(x []int8) int) {
	s := l.s
	sums, counts := make([]int64, len(c.int8s)), make([]int, len(c.weight))
	l.chosen = slices.Grow(l.chosen[:0], len(rows))
	for i, row := range rows {
		if i%256 == 0 {
			if l.ctx.Err() != nil {
				return
			}
			runtime.Gosched()
		}
		x := l.sample.at(s, row)
		n := nearest(x)
		l.chosen = append(l.chosen, n)
		counts[n]++
		weight := int64(float64(l.sample.scale[row]) * (1 << 24))
		sum := sums[n*s.padded:][:len(x)]
		for d, v := range x {
			sum[d] += int64(v) * weight
		}
	}
	for n := range c.weight {
		at, sum := c.at(s, n), sums[n*s.padded:(n+1)*s.padded]
		var top int64
		for _, v := range sum {
			top = max(top, v, -v)
		}
		if counts[n] == 0 || top == 0 {
			copy(at, l.sample.at(s, rows[(2*n+1)*len(rows)/(2*len(c.weight))]))
		} else {
			for d, v := range sum {
				at[d] = int8(math.RoundToEven(float64(v) * 127 / float64(top)))
			}
		}
		c.weigh(s, n)
	}
}
