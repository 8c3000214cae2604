package text

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class says how the scanner treats a character.
type class uint8

const (
	classBreak     class = iota // ends a word
	classWord                   // letters, digits, marks
	classConnector              // joins two words into a compound when it stands alone between them
	classIgnored                // invisible inside a word: soft hyphen, joiners, variation selectors, skin tones
	classSymbol                 // a term by itself: emoji, arrows, currency
	classCJK                    // Han, kana, Hangul
	classCluster                // scripts without spaces that stack marks: Thai, Lao, Khmer, Burmese
)

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClasses[r]
	}
	switch {
	case isVoicing(r), r == 'ー', r == 'ｰ', unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		if unicode.IsLetter(r) || unicode.IsNumber(r) || isRadical(r) {
			return classCJK
		}
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		if unicode.IsLetter(r) || unicode.Is(unicode.M, r) {
			return classCluster
		}
	}
	switch {
	case r == '\u200b': // zero width space
		return classBreak
	case isIgnored(r):
		return classIgnored
	case isQuote(r), isHyphen(r): // two of the quotes are letters to Unicode
		return classConnector
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.M, r):
		return classWord
	case unicode.In(r, unicode.So, unicode.Sm, unicode.Sc):
		return classSymbol
	}
	return classBreak
}

var asciiClasses = func() (classes [utf8.RuneSelf]class) {
	for c := range classes {
		classes[c] = asciiClass(byte(c))
	}
	return classes
}()

func asciiClass(c byte) class {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c):
		return classWord
	case strings.IndexByte("_-./\\@:'", c) >= 0:
		return classConnector
	}
	return classBreak
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isRegional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// isIgnored reports whether a character only changes how others look: invisible characters, such as U+034F that joins
// marks, and skin tones.
func isIgnored(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x34F || r >= 0x1F3FB && r <= 0x1F3FF
}

// isQuote reports whether a character is written as an apostrophe, as U+02BB and U+02BC are.
func isQuote(r rune) bool {
	return r == '\'' || r == '’' || r == '‘' || r == 'ʻ' || r == 'ʼ' || r == '＇'
}

// isHyphen reports whether a character is a hyphen outside ASCII: U+2010, or U+2011, at which no line is broken.
func isHyphen(r rune) bool { return r == '‐' || r == '‑' }

// isRadical reports whether a character is a radical. Documents use radicals in place of the characters that they
// look like.
func isRadical(r rune) bool { return r >= 0x2E80 && r <= 0x2FD5 }

// isJamoEnd reports whether a character is a vowel or final consonant of decomposed Hangul, which belongs to the
// character before it.
func isJamoEnd(r rune) bool { return r >= 0x1160 && r <= 0x11FF || r >= 0xD7B0 && r <= 0xD7FB }

// isVoicing reports whether a character is a half-width kana sound mark, which belongs to the character before it.
func isVoicing(r rune) bool { return r == 0xFF9E || r == 0xFF9F }

// letters holds the letters that compatibility decomposition leaves whole.
var letters = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ð", "d", "þ", "th", "ı", "i", "ŧ", "t", "ς", "σ",
	"’", "'", "‘", "'", "ʻ", "'", "ʼ", "'", "‐", "-", "ى", "ي", "ة", "ه", "ـ", "", "ی", "ي", "ک", "ك", "ٱ", "ا",
	"ൺ", "ണ്", "ൻ", "ന്", "ർ", "ര്", "ൽ", "ല്", "ൾ", "ള്", "ൿ", "ക്", "ৎ", "ত্", // as they are written with a joiner
)

// fold brings a word to the form that is compared: compatibility forms resolved,
// lower case, accents off where they are decoration (Latin, Greek, Cyrillic,
// Arabic, Hebrew) and kept where they are vowels (the Indic scripts), invisible
// characters gone, digits of every script as 0 to 9, the Arabic article off.
func fold(s string) string {
	ascii, lower := true, true
	for i := 0; i < len(s); i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
		lower = lower && (s[i] < 'A' || s[i] > 'Z')
	}
	if ascii {
		if lower {
			return s
		}
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	var base rune // the letter that following marks are on; its script is looked up when a mark comes
	for _, r := range norm.NFKD.String(s) {
		switch {
		case isIgnored(r), unicode.Is(unicode.Me, r), unicode.IsSpace(r), r == utf8.RuneError: // Me: a frame around a character
		case unicode.Is(unicode.Mn, r):
			if !unicode.In(base, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew) {
				b.WriteRune(r)
			}
		default:
			base = r
			b.WriteRune(asciiDigit(unicode.ToLower(r)))
		}
	}
	out := norm.NFC.String(letters.Replace(b.String()))
	if bare, ok := strings.CutPrefix(out, "ال"); ok && utf8.RuneCountInString(bare) >= 3 {
		return bare
	}
	return out
}

// asciiDigit returns the ASCII digit of the same value for a digit of any script, and other characters as they are.
func asciiDigit(r rune) rune {
	if r < utf8.RuneSelf || !unicode.IsDigit(r) {
		return r
	}
	for _, t := range unicode.Nd.R16 { // each script's digits lie in order, ten by ten
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// capTerm bounds a term: equal long terms stay equal, different ones differ.
func capTerm(term string) string {
	if len(term) <= maxTermBytes {
		return term
	}
	h := fnv.New64a()
	h.Write([]byte(term))
	cut := 64
	for !utf8.RuneStart(term[cut]) {
		cut--
	}
	return term[:cut] + "~" + strconv.FormatUint(h.Sum64(), 16)
}
