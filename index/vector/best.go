package vector

import (
	"cmp"
	"math"
)

// A Hit is a row and its cosine.
type Hit struct {
	Row uint32
	Sim float64
}

// compare orders hits: nearest first, then by the caller's rule, then by number.
func (q *Query) compare(a, b Hit) int {
	if a.Sim != b.Sim { // neither is NaN
		if a.Sim > b.Sim {
			return -1
		}
		return 1
	}
	if q.Tie != nil {
		if c := q.Tie(a.Row, b.Row); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Row, b.Row)
}

// best gathers the nearest rows: a buffer of twice the number wanted that is cut when full.
type best struct {
	q     *Query
	keep  int
	hits  []Hit
	floor float64 // no lower cosine can be among the best
	sure  nearest // the best Query.Sure of them
}

func newBest(q *Query, keep int) best {
	return best{q: q, keep: keep, floor: math.Inf(-1), sure: nearest{want: q.sure()}}
}

func (t *best) offer(row uint32, sim float64) {
	if sim < t.floor {
		return
	}
	if t.hits == nil {
		t.hits = make([]Hit, 0, 2*t.keep)
	}
	t.hits = append(t.hits, Hit{row, sim})
	t.sure.offer(sim)
	if len(t.hits) == 2*t.keep {
		t.cut()
	}
}

// cut leaves the best keep rows, in no order: quickselect about the last of them.
func (t *best) cut() {
	h := t.hits
	if len(h) <= t.keep {
		return
	}
	for lo, hi := 0, len(h)-1; lo < hi; {
		pivot := median(t.q, h[lo], h[(lo+hi)/2], h[hi])
		i, j := lo, hi
		for i <= j {
			for t.q.compare(h[i], pivot) < 0 {
				i++
			}
			for t.q.compare(pivot, h[j]) < 0 {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		switch {
		case t.keep-1 <= j:
			hi = j
		case t.keep-1 >= i:
			lo = i
		default:
			lo = hi
		}
	}
	t.hits, t.floor = h[:t.keep], h[t.keep-1].Sim
}

func median(q *Query, a, b, c Hit) Hit {
	if q.compare(b, a) < 0 {
		a, b = b, a
	}
	if q.compare(c, a) < 0 {
		return a
	}
	if q.compare(c, b) < 0 {
		return c
	}
	return b
}

// nearest holds the want highest cosines found, the highest first.
type nearest struct {
	sims []float64
	want int
}

func (n *nearest) offer(sim float64) {
	at := len(n.sims)
	switch {
	case at < n.want:
		n.sims = append(n.sims, sim)
	case sim <= n.sims[at-1]:
		return
	default:
		at--
	}
	for ; at > 0 && n.sims[at-1] < sim; at-- {
		n.sims[at] = n.sims[at-1]
	}
	n.sims[at] = sim
}

// least returns the cosine that a row has to exceed to be among them; it is below every cosine while there are fewer.
func (n *nearest) least() float64 {
	if len(n.sims) < n.want {
		return -2
	}
	return n.sims[n.want-1]
}
