package text

import "cmp"

// A selection gathers the k best hits: a buffer of twice as many that is cut when full. Scores that are equal are told apart
// only where it decides who stays.
type selection struct {
	k     int
	tie   func(a, b uint32) int
	hits  []Hit
	floor float64 // a raw score below it cannot round to one that stays
}

func (s *selection) offer(h Hit) {
	s.hits = append(s.hits, h)
	if len(s.hits) >= 2*s.k {
		s.cut()
	}
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

// cut leaves the k best, in no order.
func (s *selection) cut() {
	s.nth(0, len(s.hits)-1, func(a, b Hit) bool { return a.Score > b.Score })
	last := s.hits[s.k-1].Score
	s.floor = last - 2e-9
	// Those of the last score come to stand together, behind all better ones; the caller's rule says which of them stay.
	better := 0
	for i := range s.hits {
		if s.hits[i].Score > last {
			s.hits[i], s.hits[better] = s.hits[better], s.hits[i]
			better++
		}
	}
	end := better
	for i := better; i < len(s.hits); i++ {
		if s.hits[i].Score == last {
			s.hits[i], s.hits[end] = s.hits[end], s.hits[i]
			end++
		}
	}
	if end > s.k {
		s.nth(better, end-1, func(a, b Hit) bool { return tied(s.tie, a.Row, b.Row) < 0 })
	}
	s.hits = s.hits[:s.k]
}

// nth moves the hit that belongs at place k-1 of hits[lo:hi+1] there, and those before it before it.
func (s *selection) nth(lo, hi int, before func(a, b Hit) bool) {
	h, k := s.hits, s.k-1
	for lo < hi {
		pivot := h[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for before(h[i], pivot) {
				i++
			}
			for before(pivot, h[j]) {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}
