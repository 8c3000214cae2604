package text

import "cmp"

// A spread is the scores of a search's rows, and about how many reach which.
type spread struct {
	raw   []float64 // by place in accumulator.touched
	most  float64
	count [spreadSteps]int
}

const spreadSteps = 1024

// spread computes the scores.
func (s *search) spread() *spread {
	d := &s.acc.spread
	d.raw, d.most, d.count = d.raw[:0], 0, [spreadSteps]int{}
	for _, row := range s.acc.touched {
		raw := s.raw(&s.acc.cells[row])
		d.raw = append(d.raw, raw)
		d.most = max(d.most, raw)
	}
	if d.most > 0 {
		for _, raw := range d.raw {
			d.count[min(int(raw/d.most*spreadSteps), spreadSteps-1)]++
		}
	}
	return d
}

// reached is a score that about n rows reach, or a few more; 0 when there are no more.
func (d *spread) reached(n int) float64 {
	if n >= len(d.raw) {
		return 0
	}
	i := spreadSteps - 1
	for sum := d.count[i]; sum < n && i > 0; sum += d.count[i] {
		i--
	}
	return float64(i) * d.most / spreadSteps
}

// tied orders rows of equal score by the caller's rule, then by number.
func tied(tie func(a, b uint32) int, a, b uint32) int {
	if tie != nil {
		if c := tie(a, b); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// cut leaves the k best of some hits, in no order. Scores that are equal are told apart only where it decides who stays.
func cut(hits []Hit, k int, tie func(a, b uint32) int) []Hit {
	if len(hits) <= k {
		return hits
	}
	nth(hits, k, func(a, b *Hit) bool { return a.Score > b.Score })
	last := hits[k-1].Score
	// Those of the last score come to stand together, behind all better ones; the caller's rule says which of them stay.
	better := 0
	for i := range hits {
		if hits[i].Score > last {
			hits[i], hits[better] = hits[better], hits[i]
			better++
		}
	}
	end := better
	for i := better; i < len(hits); i++ {
		if hits[i].Score == last {
			hits[i], hits[end] = hits[end], hits[i]
			end++
		}
	}
	if end > k {
		nth(hits[better:end], k-better, func(a, b *Hit) bool { return tied(tie, a.Row, b.Row) < 0 })
	}
	return hits[:k]
}

// nth moves the k first of some hits to their beginning, in no order.
func nth(h []Hit, k int, before func(a, b *Hit) bool) {
	for lo, hi := 0, len(h)-1; lo < hi; {
		pivot := h[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for before(&h[i], &pivot) {
				i++
			}
			for before(&pivot, &h[j]) {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			return
		}
	}
}
