package text

import (
	"iter"
	"unicode/utf8"
)

// A prefilter holds, for each first letter, the lengths of a set's words. Most words of a text are in no set: the
// prefilter saves looking them up. The words are lower-case. A word whose first letter is not ASCII always passes.
type prefilter [utf8.RuneSelf]uint64

func newPrefilter(words iter.Seq[string]) *prefilter {
	var h prefilter
	for w := range words {
		if w[0] < utf8.RuneSelf {
			h[w[0]] |= 1 << min(len(w), longestLength)
		}
	}
	return &h
}

const longestLength = 63 // and all that are longer

// mayContain reports whether a word, which is not empty, may be in the set once it is folded. Folding keeps the
// length of an ASCII word and may shorten others, so those always pass.
func (h *prefilter) mayContain(word string) bool {
	c := word[0]
	if c >= utf8.RuneSelf || !ascii(word) {
		return true
	}
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return h[c]>>min(len(word), longestLength)&1 != 0
}
