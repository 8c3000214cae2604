package mind

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Gist is what a statement is about: its different words, each as a hash of its first letters, in order. The lowest
// bit is 0 for a word with a capital or a digit.
type Gist []uint32

// Which statements are about the same. Words are not stemmed, and those without a meaning of their own are not known:
// most are short. So reading a statement costs a few microseconds, in any language.
const (
	gistBytes   = 512 // a longer text is more than one statement
	gistLetters = 6   // of a word: its forms end differently
	gistShort   = 4   // letters that a word has at least, if it has no digit
	gistWords   = 2   // statements have so many words in common, and half of the one with fewer
)

// GistOf reads a statement; it is empty for what is longer than one.
func GistOf(s string) Gist {
	if len(s) > gistBytes {
		return nil
	}
	g := make(Gist, 0, 48)
	hash, letters, named, counts := uint32(fnvBasis), 0, false, false // of the word that is being read
	end := func() {
		if letters >= gistShort || counts {
			if hash |= 1; named {
				hash--
			}
			g = append(g, hash)
		}
		hash, letters, named, counts = fnvBasis, 0, false, false
	}
	var before rune // of a script without spaces: each two neighbours are a word
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

// The numbers of FNV-1a.
const (
	fnvBasis = 2166136261
	fnvPrime = 16777619
)

// What a letter is.
const (
	noLetter uint8 = iota
	lower          // or of a script with one case
	upper
	numeric
	ideogram // of a script without spaces
)

// plainClasses holds the classes of the letters of ASCII.
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

// Likeness is the share of the shorter statement's words that the other one has too; 0 where they are not about the
// same, and where a question names something of this statement that the other lacks.
func (g Gist) Likeness(other, question Gist) float64 {
	shorter, common, j := min(len(g), len(other)), 0, 0
	least := max(gistWords, (shorter+1)/2)
	for i, w := range g {
		if common+min(len(g)-i, len(other)-j) < least { // too few are left
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
