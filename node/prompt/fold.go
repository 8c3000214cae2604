package prompt

import (
	"unicode"

	"github.com/cairndb/cairn/index/text"
)

// A termSet holds the terms of a text.
type termSet map[string]bool

// maxCompared bounds the bytes of a text that are compared with others.
const maxCompared = 8 << 10

func termSetOf(body string) termSet {
	s := termSet{}
	for _, t := range text.Analyze(body[:min(len(body), maxCompared)]) {
		s[t.Term] = true
	}
	return s
}

// Thresholds of similarity. A few texts that share most of their terms are included, because they may differ in a
// detail that matters, such as a number or a name.
const (
	maxResembling  = 3
	resembleShare  = .8 // least Jaccard index of texts that resemble each other
	containedShare = .7 // a text repeats one with all its terms, if it has at least this share of that one's terms
	repeatShare    = .9 // least Jaccard index of texts that repeat each other, if no number differs
)

// repeats reports whether a text adds nothing to a better one.
func (s termSet) repeats(better termSet) bool {
	both := s.shared(better)
	if both == len(s) && float64(len(s)) >= containedShare*float64(len(better)) {
		return true
	}
	return s.jaccard(better) >= repeatShare && !numbersDiffer(s, better) && !numbersDiffer(better, s)
}

func (s termSet) resembles(other termSet) bool { return s.jaccard(other) >= resembleShare }

func (s termSet) jaccard(other termSet) float64 {
	both := s.shared(other)
	return float64(both) / float64(max(1, len(s)+len(other)-both))
}

func (s termSet) shared(other termSet) (n int) {
	for t := range s {
		if other[t] {
			n++
		}
	}
	return n
}

// numbersDiffer reports whether s has a term with a digit that other lacks.
func numbersDiffer(s, other termSet) bool {
	for t := range s {
		if !other[t] {
			for _, r := range t {
				if unicode.IsDigit(r) {
					return true
				}
			}
		}
	}
	return false
}
