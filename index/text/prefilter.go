package text

import (
	"iter"
	"unicode/utf8"
)

// Heads say which lengths the words of a set have, by their first letter: most words of a text are in no such set, and
// need not be looked up. The words are lower-case; a word whose first letter is not ASCII may always be in the set.
type heads [utf8.RuneSelf]uint64

func headsOf(words iter.Seq[string]) *heads {
	var h heads
	for w := range words {
		if w[0] < utf8.RuneSelf {
			h[w[0]] |= 1 << min(len(w), longHead)
		}
	}
	return &h
}

const longHead = 63 // stands for all that is as long or longer

// may says whether a word, which is not empty, may be in the set when it is folded: folding takes nothing off an ASCII
// word, and may shorten others.
func (h *heads) may(word string) bool {
	c := word[0]
	if c >= utf8.RuneSelf || !ascii(word) {
		return true
	}
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return h[c]>>min(len(word), longHead)&1 != 0
}
