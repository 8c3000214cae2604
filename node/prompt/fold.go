package prompt

import (
	"unicode"

	"github.com/cairndb/cairn/index/text"
)

// A termSet holds the terms of a memory's text.
type termSet map[string]bool

// maxCompared bounds the bytes of a text that are compared.
const maxCompared = 8 << 10

func termSetOf(body string) termSet {
	s := termSet{}
	for _, t := range text.Analyze(body[:min(len(body), maxCompared)]) {
		s[t.Term] = true
	}
	return s
}

// Of texts that share most of their terms a few are kept: they may differ in what matters, such as a number or a name.
const (
	maxAlike  = 3
	alike     = .8 // of the terms of both
	contained = .7 // a text whose terms another has all, and that is no shorter than this share of it, adds nothing
	same      = .9 // of the terms of both, where no number differs
)

// repeats says that a text adds nothing to a better one; resembles that the two share most of their terms.
func (s termSet) repeats(better termSet) bool {
	both := s.shared(better)
	if both == len(s) && float64(len(s)) >= contained*float64(len(better)) {
		return true
	}
	return s.jaccard(better) >= same && !numbersDiffer(s, better) && !numbersDiffer(better, s)
}

func (s termSet) resembles(other termSet) bool { return s.jaccard(other) >= alike }

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

// numbersDiffer reports whether a text has a term with a digit that the other lacks.
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
