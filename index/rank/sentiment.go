package rank

import (
	"slices"
	"strings"
	"unicode"
)

var (
	negative = strings.Fields(`sad frustrated angry bad worst low lows difficult hard struggle pain stress anxious
		upset failed failure problem negative stressing worried tough`)
	positive = strings.Fields(`happy joy great best high good wonderful excited proud success achievement positive
		celebration love`)
)

// Sentiment is the mood of a question: -1, 0 or 1, by the majority of its words.
func Sentiment(question string) int {
	sum := 0
	for _, w := range words(question) {
		if means(w, positive) {
			sum++
		}
		if means(w, negative) {
			sum--
		}
	}
	return max(-1, min(sum, 1))
}

// means reports whether w is in the list, or begins or continues one of its longer words.
func means(w string, list []string) bool {
	for _, end := range []string{"ing", "ed", "es", "s", "ly"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= 4 && !slices.Contains(list, w) {
			w = s
			break
		}
	}
	return slices.ContainsFunc(list, func(x string) bool {
		return w == x || len(w) >= 4 && strings.HasPrefix(x, w) || len(x) >= 4 && strings.HasPrefix(w, x)
	})
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
