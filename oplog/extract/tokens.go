package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of a text, with its context.
type token struct {
	text       string
	sentence   bool // the first of its sentence
	joined     bool // only a blank separates it from the previous token
	possessive bool // ended in 's, which text does not include
	lower      bool // only a to z: the only such names are tools
}

// Classes of ASCII characters. Most characters are ASCII, so a table classifies them.
const (
	asciiPart  = 1 << iota // may stand inside a word
	asciiSmall             // a to z
)

var asciiKinds = func() (kinds [utf8.RuneSelf]uint8) {
	for c := range kinds {
		r := rune(c)
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(joiners, r) {
			kinds[c] |= asciiPart
		}
		if 'a' <= r && r <= 'z' {
			kinds[c] |= asciiSmall
		}
	}
	return kinds
}()

const (
	joiners = "_'’-./@#:+&" // may be inside words
	marks   = "'’-./:+&"    // are cut off at the beginning of a word
	endings = "'’-./:&#@"   // are cut off at the end of a word
	stops   = ".!?\n;:•"    // end a sentence
)

// isWordRune reports whether a rune may stand inside a word: identifiers, paths, addresses and handles stay whole.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiKinds[r]&asciiPart != 0
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune(joiners, r)
}

// tokens splits a text. Punctuation at a word's ends is not part of it.
func tokens(s string) (out []token) {
	out = make([]token, 0, len(s)/6+1) // a word of English and its space
	first, blank := true, true
	for at := 0; at < len(s); {
		if end := lowerWordEnd(s, at); end > at {
			out = append(out, token{text: s[at:end], sentence: first, joined: blank && len(out) > 0, lower: true})
			first, blank, at = false, true, end
			continue
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		if !isWordRune(r) {
			first = first || strings.ContainsRune(stops, r)
			blank = blank && r == ' '
			at += n
			continue
		}
		end := wordEnd(s, at)
		word := s[at:end]
		core := strings.TrimLeft(word, marks)
		trimmed := strings.TrimRight(core, endings)
		tail := core[len(trimmed):]
		if trimmed != "" {
			t := token{text: trimmed, sentence: first, joined: blank && len(core) == len(word) && len(out) > 0}
			for _, suffix := range []string{"'s", "’s"} {
				if short, ok := strings.CutSuffix(t.text, suffix); ok && short != "" {
					t.text, t.possessive = short, true
				}
			}
			out = append(out, t)
			first, blank = false, tail == ""
		}
		if strings.ContainsAny(tail, ".:") || trimmed == "" && strings.ContainsAny(word, ".:") { // behind a bracket or a star
			first = true
		}
		at = end
	}
	return out
}

// lowerWordEnd returns the end of the word at a place if it is only a to z; otherwise the place itself.
func lowerWordEnd(s string, at int) int {
	end := at
	for end < len(s) && s[end] < utf8.RuneSelf && asciiKinds[s[end]]&asciiSmall != 0 {
		end++
	}
	if end < len(s) && (s[end] >= utf8.RuneSelf || asciiKinds[s[end]]&asciiPart != 0) {
		return at
	}
	return end
}

// wordEnd returns the end of the word at a place.
func wordEnd(s string, at int) int {
	for at < len(s) {
		if c := s[at]; c < utf8.RuneSelf {
			if asciiKinds[c]&asciiPart == 0 {
				break
			}
			at++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		if !isWordRune(r) {
			break
		}
		at += n
	}
	return at
}

// isCapitalised reports whether a word begins with a capital letter.
func isCapitalised(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// isAcronym reports whether a word is an acronym: two or more capitals, digits allowed, nothing small.
func isAcronym(w string) bool {
	caps := 0
	for _, r := range w {
		switch {
		case unicode.IsUpper(r):
			caps++
		case unicode.IsLower(r):
			return false
		}
	}
	return caps >= 2
}

func alnum(w string) (n int) {
	for _, r := range w {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// identifier reports whether a word is a name in a program: it has an underscore, a slash or dots inside letters,
// ends like a call, or changes from small to capital letters.
func identifier(w string) bool {
	if strings.Contains(w, "://") {
		return true
	}
	if strings.ContainsAny(w, "_/") {
		return alnum(w) >= 3 && letters(w) >= 2 && !strings.Contains(w, "//") && !isDigitDate(w)
	}
	if i := strings.IndexByte(w, '.'); i > 0 && i < len(w)-1 && letters(w[:i]) == i && letters(w[i+1:]) > 0 {
		return true
	}
	small := false
	for _, r := range w {
		if small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}

func letters(w string) (n int) {
	for _, r := range w {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}
