package mind

import (
	"iter"
	"slices"
	"strings"
)

// A fact holds what a sentence says of a subject.
type fact struct {
	subject string // folded
	name    string // the subject as written
	attr    string
	value   string // stems, joined by blanks
	shown   string // the value as written
	kind    string // identity_fact, preference or temporal
	single  bool   // the attribute has one value at a time
	denied  bool
}

// maxFacts bounds what is read from one text.
const maxFacts = 8

// facts reads a text.
func facts(text string) []fact { return factsOf(sentences(text)) }

func factsOf(text [][]word) (out []fact) {
	var kept []word
	for _, s := range text {
		for clause := range clauses(s) {
			f, ok := read(clause, &kept)
			if ok {
				out = append(out, f)
			}
			if len(out) == maxFacts {
				return out
			}
		}
	}
	return out
}

// clauses drops what changes nothing and splits at conjunctions behind a comma. "Note: …" loses its first part.
func clauses(s []word) iter.Seq[[]word] {
	return func(yield func([]word) bool) {
		start := 0
		for i := 1; i <= len(s); i++ {
			if i < len(s) && (i == len(s)-1 || !s[i].clauseBreak) { // one word is not a clause
				continue
			}
			if i-start >= 3 && !yield(s[start:i]) {
				return
			}
			start = i
		}
	}
}

// clauseEnders begin what no longer belongs to a value.
var clauseEnders = set(`because since and but which who while so though although until after before with if when unless whereas where
thanks according despite instead`)

var pronouns = set(`he she it they this these those there here you who which what that someone everyone everybody nobody`)

var selfWords = map[string]string{"i": "user", "my": "user", "me": "user", "we": "we", "our": "we"}

// mostRead bounds how many words of a clause are read. A subject has five at most, and a value six.
const mostRead = 32

// read finds the fact of a clause: a subject, a verb that is known, a value. It keeps words in a buffer that is used
// again.
func read(c []word, kept *[]word) (fact, bool) {
	denied := false
	ws := (*kept)[:0]
	defer func() { *kept = ws }()
	for i, w := range c[:min(len(c), mostRead)] {
		switch {
		case w.lower == "used" && i+1 < len(c) && c[i+1].lower == "to",
			w.lower == "formerly" || w.lower == "previously" || w.lower == "once" || w.lower == "maybe" || w.lower == "if":
			return fact{}, false // the past, or no statement
		case w.lower == "longer" && i > 0 && c[i-1].lower == "no", w.is(denial):
			denied = true
			if contracted[w.lower] {
				ws = append(ws, word{raw: "is", lower: "is", stem: "be"})
			}
		case w.lower == "longer" && denied, w.lower == "do" || w.lower == "does" || w.lower == "did":
		case w.is(filler) && !w.possessive && (w.lower != "i" || len(ws) > 0): // the "I" that begins a statement is its subject
		default:
			ws = append(ws, w)
		}
	}
	for _, find := range finders {
		about, f := find(ws)
		var ok bool
		if f.subject, f.name, ok = subject(about); ok {
			f.denied = f.denied != denied
			return f, f.value != ""
		}
	}
	return fact{}, false
}

// contracted are denials with a verb in them that carries meaning.
var contracted = set("isn't aren't isn’t aren’t")

// subject reads the words before a verb: few, and no pronoun.
func subject(ws []word) (folded, shown string, ok bool) {
	for len(ws) > 1 && (ws[len(ws)-1].stem == "be" || ws[len(ws)-1].stem == "hav") { // "has been moved to"
		ws = ws[:len(ws)-1]
	}
	for len(ws) > 1 && (ours[ws[0].lower] || ws[0].lower == "user" && !ws[0].possessive) {
		ws = ws[1:]
	}
	if len(ws) == 0 || len(ws) > 5 || pronouns[ws[0].lower] {
		return "", "", false
	}
	if s, self := selfWords[ws[0].lower]; self && len(ws) == 1 {
		return s, s, true
	}
	var f, n []string
	for _, w := range ws {
		if w.is(functionWord) && w.lower != "of" && w.lower != "for" && w.lower != "with" {
			return "", "", false
		}
		f, n = append(f, w.stem), append(n, w.raw)
	}
	return strings.Join(f, " "), strings.Join(n, " "), true
}

// leading may stand before a value and say nothing of it.
var leading = set("in on at to every by")

// maxValue bounds a value's words: longer ones are stories.
const maxValue = 6

// value reads the words behind a verb, up to what no longer belongs to it.
func value(ws []word) (stems, shown string, words []word) {
	for i, w := range ws {
		if clauseEnders[w.lower] || i > 0 && w.clauseBreak {
			ws = ws[:i]
			break
		}
	}
	for len(ws) > 0 && leading[ws[0].lower] {
		ws = ws[1:]
	}
	if len(ws) == 0 || len(ws) > maxValue {
		return "", "", nil
	}
	var s, n []string
	for _, w := range ws {
		s, n = append(s, normalizeTime(w.stem)), append(n, w.raw)
	}
	return strings.Join(s, " "), strings.Join(n, " "), ws
}

// normalizeTime spells times of day and ordinals in one way.
func normalizeTime(w string) string {
	if ordinal(w) {
		return w[:len(w)-2]
	}
	if clock(w) {
		return strings.TrimSuffix(strings.ReplaceAll(w, ":00", ""), "h")
	}
	return w
}

// distinctive reports whether a value is one that excludes others: a name, a number, a time, a word of a category.
func distinctive(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool {
		return isUpper(w.raw) || hasNumber(w.raw) || temporal(w.lower) || categories[w.lower] != "" || strings.ContainsAny(w.raw, "_/@.")
	})
}

func hasTime(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return temporal(w.lower) })
}

func kindOf(attr string, ws []word) string {
	switch {
	case strings.Contains(attr, "favorit") || strings.Contains(attr, "favourit") || strings.Contains(attr, "prefer"):
		return "preference"
	case hasTime(ws):
		return "temporal"
	}
	for _, w := range ws {
		if c := categories[w.lower]; c != "" && c != "cloud_providers" && c != "roles" {
			return "preference"
		}
	}
	return identity
}

// setNoun says what a possessive or definite fact is about: its attribute and value.
func (f *fact) setNoun(attr []word, val []word) bool {
	var a []string
	favorite := strings.HasPrefix(attr[0].stem, "favo")
	for _, w := range attr {
		if multiValued[w.stem] && !favorite || w.is(functionWord) {
			return false
		}
		a = append(a, w.stem)
	}
	last := attr[len(attr)-1].stem
	v, shown, ws := value(val)
	if v == "" || !distinctive(ws) && !singleValued[last] && !singleValued[attr[0].stem] {
		return false
	}
	f.attr, f.value, f.shown, f.single = strings.Join(a, " "), v, shown, true
	f.kind = kindOf(f.attr, ws)
	return true
}

// findCopula finds the copula: "is", "was changed to", "moved to". Past tense is not a statement about now, but for
// "is now".
func findCopula(ws []word, from int) (at, next int) {
	for i := from; i < len(ws); i++ {
		switch ws[i].lower {
		case "is", "are", "=", "equals", "becomes", "remains", "stays":
			return i, i + 1
		case "changed", "moved":
			if i+1 < len(ws) && ws[i+1].lower == "to" {
				return i, i + 2
			}
		}
	}
	return -1, -1
}
