package mind

import (
	"strings"
	"unicode"
)

// changes are the phrases that say that something has changed, by their first words. They are looked for in every text
// that is stored.
var changes = cues("now|no longer|not anymore|anymore|any more|from now on|these days|instead|moved|moves|switched|changed|changes|replaced|replaces|dropped|has a new|have a new|a new|" +
	"was removed|has been|have been|were removed|is removed|cancelled|canceled|retired|archived|went down|went up|went to|stepped down|handed to|took over|takes over|is gone|stopped|" +
	"postponed|slipped|used to|closed down|renamed|rewritten|extended|shortened|swapped|went back|back to|gave up|given up|no more|as of|cut to|raised to|lowered to|starting with|" +
	"grown to|slowed|switched off|out of use|is out|since|got rid of|gone up|gone down|on hold")

func cues(all string) map[string][][]string {
	out := map[string][][]string{}
	for c := range strings.SplitSeq(all, "|") {
		phrase := strings.Fields(c)
		out[phrase[0]] = append(out[phrase[0]], phrase)
	}
	return out
}

// hasCue reports whether a text has such a phrase.
func hasCue(text string) bool {
	for word, rest := nextWord(strings.ToLower(text)); word != ""; word, rest = nextWord(rest) {
		for _, phrase := range changes[word] {
			if begins(rest, phrase[1:]) {
				return true
			}
		}
	}
	return false
}

// begins reports whether a text begins with these words.
func begins(text string, words []string) bool {
	for _, w := range words {
		var next string
		if next, text = nextWord(text); next != w {
			return false
		}
	}
	return true
}

// nextWord returns a text's first word, blank if it has none, and what follows.
func nextWord(text string) (word, rest string) {
	text = strings.TrimLeftFunc(text, between)
	n := strings.IndexFunc(text, between)
	if n < 0 {
		n = len(text)
	}
	return text[:n], text[n:]
}

// between reports whether a letter stands between words.
func between(r rune) bool {
	switch r {
	case ' ', '\n', '\t', '\r', ',', '.', ';', ':', '!', '?', '(', ')':
		return true
	}
	return (r < ' ' || r > unicode.MaxASCII) && unicode.IsSpace(r)
}
