package text

import (
	"maps"
	"strings"
)

// pointers are the English words by which a text names someone or something that was named before it. "it", "this"
// and "that" are not among them: they are in most texts and say nothing there.
var pointers = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("he him his she her they them their these those") {
		m[w] = true
	}
	return m
}()

var pointerHeads = headsOf(maps.Keys(pointers))

// Refers says whether a text names by a pronoun someone or something that an earlier one names: "I've had them three
// years". It is a pure function.
func Refers(text string) bool {
	for _, w := range wordsOf(text) {
		if pointerHeads.may(w) && pointers[strings.ToLower(w)] {
			return true
		}
	}
	return false
}
