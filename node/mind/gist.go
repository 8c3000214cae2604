package mind

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Gist is a fingerprint of a statement: its distinct words, each as a hash of its first letters, sorted. The lowest
// bit is 0 for a word with a capital letter or a digit.
type Gist []uint32

// Parameters of the fingerprint. Words are cut instead of stemmed, and short words are dropped instead of looked up
// in a list of function words. So a fingerprint costs a few microseconds and works in any language.
const (
	gistBytes   = 512 // longer texts are not single statements and get no fingerprint
	gistLetters = 6   // letters of a word that are hashed: the forms of a word differ at the end
	gistShort   = 4   // least number of letters of a word without a digit
	gistWords   = 2   // related statements share at least this many words, and half of the shorter one's
)

// GistOf returns the fingerprint of a statement, empty if the text is longer than gistBytes.
func GistOf(s string) Gist {
	if len(s) > gistBytes {
		return nil
	}
	g := make(Gist, 0, 48)
	hash, letters, named, counts := uint32(fnvBasis), 0, false, false // of the current word
	end := func() {
		if letters >= gistShort || counts {
			if hash |= 1; named {
				hash--
			}
			g = append(g, hash)
		}
		hash, letters, named, counts = fnvBasis, 0, false, false
	}
	var before rune // the previous letter, in a script without spaces: each pair of neighbours counts as a word
	for _, r := range s {
		var class uint8
		if r < utf8.RuneSelf {
			class = plainClasses[r]
		} else {
			class = gistClass(r)
		}
		if before != 0 && class == ideogram {
			g = append(g, (fnvBasis^uint32(before))*fnvPrime^uint32(r)*fnvPrime|1)
		}
		before = 0
		switch class {
		case noLetter:
			if letters > 0 {
				end()
			}
			continue
		case ideogram:
			before = r
			if letters > 0 {
				end()
			}
			continue
		case numeric:
			named, counts = true, true
		case upper:
			named, r = true, unicode.ToLower(r)
		}
		if letters++; letters <= gistLetters || counts {
			hash = (hash ^ uint32(r)) * fnvPrime
		}
	}
	end()
	slices.Sort(g)
	return slices.CompactFunc(g, func(a, b uint32) bool { return a>>1 == b>>1 })
}

// The constants of the FNV-1a hash.
const (
	fnvBasis = 2166136261
	fnvPrime = 16777619
)

// Classes of runes.
const (
	noLetter uint8 = iota
	lower          // or a letter of a script without case
	upper
	numeric
	ideogram // a letter of a script without spaces
)

// plainClasses holds the classes of ASCII characters.
var plainClasses = func() (c [utf8.RuneSelf]uint8) {
	for r := range c {
		c[r] = gistClass(rune(r))
	}
	return c
}()

func gistClass(r rune) uint8 {
	switch {
	case r >= 0x0E00 && r < 0x0F00, r >= 0x3040 && r < 0xD800, r >= 0x20000 && r < 0x40000:
		return ideogram
	case unicode.IsUpper(r):
		return upper
	case unicode.IsDigit(r):
		return numeric
	case unicode.IsLetter(r), unicode.Is(unicode.M, r):
		return lower
	}
	return noLetter
}

// Likeness returns the share of the shorter statement's words that both have. It returns 0 for unrelated statements,
// and if the question names a word of g that other lacks.
func (g Gist) Likeness(other, question Gist) float64 {
	shorter, common, j := min(len(g), len(other)), 0, 0
	least := max(gistWords, (shorter+1)/2)
	for i, w := range g {
		if common+min(len(g)-i, len(other)-j) < least { // the remaining words cannot reach least
			return 0
		}
		for j < len(other) && other[j]>>1 < w>>1 {
			j++
		}
		switch {
		case j < len(other) && other[j]>>1 == w>>1:
			common++
		case w&1 == 0 && slices.ContainsFunc(question, func(q uint32) bool { return q>>1 == w>>1 }):
			return 0
		}
	}
	if common < least {
		return 0
	}
	return float64(common) / float64(shorter)
}
