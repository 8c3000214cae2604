package text

import "strings"

// derivedLetters is the least length of a word that others are made of: "butter" is not made of "but".
const derivedLetters = 4

// endings make English words of others; they are as the stemmer leaves them: editor, payment, ownership, signature.
var endings = strings.Fields("er or ist ian ment ion ation ur atur al anc enc ag ship hood ness iv abl ibl ful less")

// derivations returns the English stems that a term may be made of, or that are made of the same word: of "editor"
// "edit" and "edition", and of "babysit" "babysitt", the stem of a babysitter.
func derivations(term string) (out []string) {
	if !ascii(term) {
		return nil
	}
	for _, base := range append(basesOf(term), term) {
		last := len(base) - 1
		if len(base) < derivedLetters {
			continue
		}
		out = append(out, base, base+"e", base+base[last:])
		for _, e := range endings {
			out = append(out, base+e, base+base[last:]+e)
		}
	}
	return out
}

// basesOf returns a term's beginnings before an ending, without a letter that was doubled for it.
func basesOf(term string) (out []string) {
	for _, e := range endings {
		base, ok := strings.CutSuffix(term, e)
		if !ok || len(base) < derivedLetters {
			continue
		}
		out = append(out, base)
		if last := len(base) - 1; base[last] == base[last-1] {
			out = append(out, base[:last])
		}
	}
	return out
}
