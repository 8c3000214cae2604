package mind

import (
	"strings"
	"unicode"
)

// changePhrases are the phrases that indicate a change, by their first words. Every text that is stored is searched
// for them.
var changePhrases = phrasesByFirstWord("now|no longer|not anymore|anymore|any more|from now on|these days|instead|moved|moves|switched|changed|changes|replaced|replaces|dropped|has a new|have a new|a new|" +
	"was removed|has been|have been|were removed|is removed|cancelled|canceled|retired|archived|went down|went up|went to|stepped down|handed to|took over|takes over|is gone|stopped|" +
	"postponed|slipped|used to|closed down|renamed|rewritten|extended|shortened|swapped|went back|back to|gave up|given up|no more|as of|cut to|raised to|lowered to|starting with|" +
	"grown to|slowed|switched off|out of use|is out|since|got rid of|gone up|gone down|on hold")

func phrasesByFirstWord(all string) map[string][][]string {
	out := map[string][][]string{}
	for c := range strings.SplitSeq(all, "|") {
		phrase := strings.Fields(c)
		out[phrase[0]] = append(out[phrase[0]], phrase)
	}
	return out
}

// hasChangePhrase reports whether a text contains a phrase that indicates a change.
func hasChangePhrase(text string) bool {
	for word, rest := nextWord(strings.ToLower(text)); word != ""; word, rest = nextWord(rest) {
		for _, phrase := range changePhrases[word] {
			if beginsWith(rest, phrase[1:]) {
				return true
			}
		}
	}
	return false
}

// beginsWith reports whether a text begins with these words.
func beginsWith(text string, words []string) bool {
	for _, w := range words {
		var next string
		if next, text = nextWord(text); next != w {
			return false
		}
	}
	return true
}

// nextWord returns a text's first word, empty if there is none, and the text after it.
func nextWord(text string) (word, rest string) {
	text = strings.TrimLeftFunc(text, isSeparator)
	n := strings.IndexFunc(text, isSeparator)
	if n < 0 {
		n = len(text)
	}
	return text[:n], text[n:]
}

// isSeparator reports whether a rune separates words.
func isSeparator(r rune) bool {
	switch r {
	case ' ', '\n', '\t', '\r', ',', '.', ';', ':', '!', '?', '(', ')':
		return true
	}
	return (r < ' ' || r > unicode.MaxASCII) && unicode.IsSpace(r)
}
