package text

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/exact"
)

// A spread counts scores by their size, to within a hundredth: by the first bits of the float, which is not negative.
type spread struct{ count [spreadSteps]uint32 }

const (
	spreadShift = 52 - 7           // of the bits: 128 steps from one power of two to the next
	spreadSteps = 32 << 7          // 32 powers
	spreadFirst = (1023 - 16) << 7 // 2^-16: what is less is counted with it, and what is too much with the last
)

func (d *spread) add(score float64) {
	d.count[max(0, min(int(math.Float64bits(score)>>spreadShift)-spreadFirst, spreadSteps-1))]++
}

// reached is a score that n of the counted reach, or some more; 0 when there are no more.
func (d *spread) reached(n int) float64 {
	i := spreadSteps - 1
	for sum := int(d.count[i]); sum < n && i > 0; sum += int(d.count[i]) {
		i--
	}
	if i == 0 {
		return 0
	}
	return math.Float64frombits(uint64(i+spreadFirst) << spreadShift)
}

// A ranked row has its place by key, lower first: the score, and among rows of equal score the caller's order.
type ranked struct {
	key          int64
	row, matched uint32
}

// byScore is the key of a score, which is not negative.
func byScore(score float64) int64 { return ^int64(math.Float64bits(score)) }

func (r ranked) score() float64 { return math.Float64frombits(uint64(^r.key)) }

// best selects the K best rows, in no order: from those above a score that K of them or a few more reach, and while Keep
// refuses too many of these, from those above a lower one.
func (s *search) best(q Query) []ranked {
	k := q.K
	if k <= 0 {
		k = 10
	}
	matches := s.adder.matches
	hits := s.hits[:0]
	for upper, want, sure := math.Inf(1), k, 0; ; want *= 4 {
		lower := s.adder.spread.reached(want)
		floor := lower - 2e-9 // what is rounded up to the last score is among them
		for i := range matches {
			m := &matches[i]
			if m.raw < floor || m.raw >= upper || q.Keep != nil && !q.Keep(m.row) {
				continue
			}
			hits = append(hits, ranked{byScore(exact.Round(m.raw)), m.row, m.matched})
			if m.raw >= lower {
				sure++
			}
		}
		if sure >= k || floor <= 0 {
			break
		}
		upper = floor
	}
	s.hits = hits
	return cut(hits, k, &q)
}

// tied orders rows of equal score by the caller's rules, then by number.
func (q *Query) tied(a, b uint32) int {
	if q.Order != nil {
		if c := cmp.Compare(q.Order(a), q.Order(b)); c != 0 {
			return c
		}
	}
	if q.Tie != nil {
		if c := q.Tie(a, b); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// cut leaves the k best of some hits, in no order. Scores that are equal are told apart only where it decides who stays.
func cut(hits []ranked, k int, q *Query) []ranked {
	if len(hits) <= k {
		return hits
	}
	from, to := split(hits, k)
	if to > k {
		equal, last := hits[from:to], hits[from].key
		for i := range equal {
			if equal[i].key = 0; q.Order != nil {
				equal[i].key = q.Order(equal[i].row)
			}
		}
		first, end := split(equal, k-from)
		slices.SortFunc(equal[first:end], func(a, b ranked) int { return q.tied(a.row, b.row) })
		for i := range equal {
			equal[i].key = last
		}
	}
	return hits[:k]
}

// split moves the k first of some hits to their beginning, in no order but that those with the last one's key, wherever they were,
// come to stand together, from..to, behind all better ones.
func split(h []ranked, k int) (from, to int) {
	for lo, hi := 0, len(h)-1; lo < hi; {
		pivot := h[(lo+hi)/2].key
		i, j := lo, hi
		for i <= j {
			for h[i].key < pivot {
				i++
			}
			for pivot < h[j].key {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		if k-1 <= j {
			hi = j
		} else if k-1 >= i {
			lo = i
		} else {
			break
		}
	}
	last := h[k-1].key
	for i := range h {
		if h[i].key < last {
			h[i], h[from] = h[from], h[i]
			from++
		}
	}
	to = from
	for i := from; i < len(h); i++ {
		if h[i].key == last {
			h[i], h[to] = h[to], h[i]
			to++
		}
	}
	return from, to
}
