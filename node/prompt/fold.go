package prompt

import (
	"unicode"

	"github.com/cairndb/cairn/index/text"
)

// A saying holds the terms of a memory's text.
type saying map[string]bool

// sayingLook bounds the bytes of a text that are compared.
const sayingLook = 8 << 10

func sayingOf(body string) saying {
	s := saying{}
	for _, t := range text.Analyze(body[:min(len(body), sayingLook)]) {
		s[t.Term] = true
	}
	return s
}

// Of texts that share most of their terms a few are kept: they may differ in what matters, such as a number or a name.
const (
	mostAlike = 3
	alike     = .8 // of the terms of both
	contained = .7 // a text whose terms another has all, and that is no shorter than this share of it, adds nothing
	same      = .9 // of the terms of both, where no number differs
)

// repeats says that a text adds nothing to a better one; resembles that the two share most of their terms.
func (s saying) repeats(better saying) bool {
	both := s.shared(better)
	if both == len(s) && float64(len(s)) >= contained*float64(len(better)) {
		return true
	}
	return s.share(better) >= same && !numbersDiffer(s, better) && !numbersDiffer(better, s)
}

func (s saying) resembles(other saying) bool { return s.share(other) >= alike }

func (s saying) share(other saying) float64 {
	both := s.shared(other)
	return float64(both) / float64(max(1, len(s)+len(other)-both))
}

func (s saying) shared(other saying) (n int) {
	for t := range s {
		if other[t] {
			n++
		}
	}
	return n
}

// numbersDiffer reports whether a text has a term with a digit that the other lacks.
func numbersDiffer(s, other saying) bool {
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
