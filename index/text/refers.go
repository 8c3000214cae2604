package text

import (
	"maps"
	"strings"
)

// pronouns holds the English words that refer to someone or something in an earlier text. "it", "this" and "that" are
// left out: most texts have them.
var pronouns = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("he him his she her they them their these those") {
		m[w] = true
	}
	return m
}()

var pronounPrefilter = newPrefilter(maps.Keys(pronouns))

// Refers reports whether a text refers by a pronoun to someone or something in an earlier text: "I've had them three
// years". It is a pure function.
func Refers(text string) bool {
	for _, w := range wordsOf(text) {
		if pronounPrefilter.mayContain(w) && pronouns[strings.ToLower(w)] {
			return true
		}
	}
	return false
}
