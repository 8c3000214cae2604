package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cost is the number of a model's tokens that the words of a script take, in hundredths. It was fitted to cl100k, a
// vocabulary of 100,000 that many models have or resemble: within 7 % over the texts of each set that recall is
// measured on, and within a tenth over those of 22 languages that TestTokens compares.
type cost struct {
	word   int // each word
	letter int // each letter behind the first free ones
	free   int
	accent int // a Latin letter of Latin-1, and
	beyond int // one beyond it, besides its word
}

// Latin letters are shared by many languages, and what tells them apart best is which letters a text has.
var (
	english = cost{word: 91, letter: 43, free: 7}                            // ASCII alone
	western = cost{word: 96, letter: 19, free: 3, accent: 58, beyond: 157}   // some accents
	umlauts = cost{word: 109, letter: 21, free: 3, accent: 102, beyond: 143} // ä, ö, ü, å or ß: words are long
	scripts = []struct {
		of *unicode.RangeTable
		cost
	}{
		{unicode.Han, cost{letter: 122}},
		{unicode.Cyrillic, cost{word: 68, letter: 41}},
		{unicode.Arabic, cost{word: -59, letter: 96}},
		{unicode.Devanagari, cost{word: 165, letter: 83}},
		{kana, cost{letter: 88}},
		{unicode.Hangul, cost{word: -131, letter: 147}},
		{unicode.Greek, cost{letter: 106}},
		{unicode.Hebrew, cost{word: 114, letter: 85}},
		{unicode.Thai, cost{letter: 93}},
	}
	kana      = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x3040, Hi: 0x30ff, Stride: 1}}} // with the long mark
	elsewhere = cost{word: 98, letter: 124}                                                      // any other script
)

const (
	number = 112 // up to three digits
	marks  = 105 // a run of ASCII punctuation
	sign   = 250 // any other sign, such as an emoji
)

// Tokens estimates how many tokens a language model makes of a text.
func Tokens(text string) int {
	of, sum := latinOf(text), 0
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case latinLetter(r):
			word, letters, accents, beyond := measureRun(text, -1, latinLetter)
			n = word
			sum += of.word + of.letter*max(0, letters-of.free) + of.accent*accents + of.beyond*beyond
		case letter(r):
			c, same := scriptOf(r)
			word, letters, _, _ := measureRun(text, -1, same)
			n = word
			sum += max(letters*50, c.word+c.letter*letters)
		case unicode.IsNumber(r):
			n, _, _, _ = measureRun(text, 3, unicode.IsNumber)
			sum += number
		case unicode.IsSpace(r):
		case r < utf8.RuneSelf:
			n, _, _, _ = measureRun(text, -1, asciiMark)
			sum += marks
		case unicode.IsPunct(r):
			sum += marks
		default:
			sum += sign
		}
		text = text[n:]
	}
	return (sum + 99) / 100
}

// latinOf returns what a text's Latin words cost.
func latinOf(text string) cost {
	of := english
	for _, r := range text {
		switch {
		case strings.ContainsRune("äöüåßÄÖÜÅ", r):
			return umlauts
		case r > 0x7f && latinLetter(r):
			of = western
		}
	}
	return of
}

// measureRun measures the runes that a text begins with and that are of one kind, at most so many; -1 is any number.
func measureRun(text string, most int, of func(rune) bool) (bytes, runes, latin1, beyond int) {
	for i, r := range text {
		if runes == most || !of(r) {
			return i, runes, latin1, beyond
		}
		switch runes++; {
		case r > 0xff:
			beyond++
		case r > 0x7f:
			latin1++
		}
	}
	return len(text), runes, latin1, beyond
}

func letter(r rune) bool      { return unicode.IsLetter(r) || unicode.IsMark(r) }
func latinLetter(r rune) bool { return unicode.Is(unicode.Latin, r) }
func asciiMark(r rune) bool {
	return r < utf8.RuneSelf && !unicode.IsSpace(r) && !unicode.IsDigit(r) && !unicode.IsLetter(r)
}

// scriptOf returns what a letter's script costs, and whether a rune goes on with a word of it.
func scriptOf(r rune) (cost, func(rune) bool) {
	for _, s := range scripts {
		if unicode.Is(s.of, r) {
			return s.cost, func(r rune) bool { return unicode.Is(s.of, r) || unicode.IsMark(r) }
		}
	}
	return elsewhere, func(r rune) bool { return letter(r) && !latinLetter(r) }
}
