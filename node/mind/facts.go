package mind

import (
	"iter"
	"slices"
	"strings"
)

// A fact is a statement that a sentence makes about a subject.
type fact struct {
	subject string // stems, joined by spaces
	name    string // the subject as written
	attr    string
	value   string // stems, joined by spaces
	shown   string // the value as written
	kind    string // identity_fact, preference or temporal
	single  bool   // the attribute has one value at a time
	denied  bool
}

// maxFacts bounds the facts of one text.
const maxFacts = 8

// facts returns the facts that a text states, at most maxFacts.
func facts(text string) []fact { return factsOf(sentences(text)) }

func factsOf(text [][]word) (out []fact) {
	var buf []word
	for _, s := range text {
		for clause := range clauses(s) {
			f, ok := readClause(clause, &buf)
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

// clauses splits a sentence at clause breaks and drops parts of fewer than three words, such as the first part of
// "Note: …".
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

// clauseEnders are words that end a value.
var clauseEnders = set(`because since and but which who while so though although until after before with if when unless whereas where
thanks according despite instead`)

var pronouns = set(`he she it they this these those there here you who which what that someone everyone everybody nobody`)

var selfWords = map[string]string{"i": "user", "my": "user", "me": "user", "we": "we", "our": "we"}

// maxClauseWords bounds the words of a clause that readClause considers. A subject has at most five, and a value six.
const maxClauseWords = 32

// readClause parses the fact of a clause: a subject, a known verb, a value. It stores the words in a buffer that the
// next call overwrites.
func readClause(clause []word, buf *[]word) (fact, bool) {
	denied := false
	ws := (*buf)[:0]
	defer func() { *buf = ws }()
	for i, w := range clause[:min(len(clause), maxClauseWords)] {
		switch {
		case w.lower == "used" && i+1 < len(clause) && clause[i+1].lower == "to",
			w.lower == "formerly" || w.lower == "previously" || w.lower == "once" || w.lower == "maybe" || w.lower == "if":
			return fact{}, false // about the past, or not a statement
		case w.lower == "longer" && i > 0 && clause[i-1].lower == "no", w.is(denial):
			denied = true
			if contractedDenials[w.lower] {
				ws = append(ws, word{raw: "is", lower: "is", stem: "be"})
			}
		case w.lower == "longer" && denied, w.lower == "do" || w.lower == "does" || w.lower == "did":
		case w.is(filler) && !w.possessive && (w.lower != "i" || len(ws) > 0): // the "I" that begins a statement is its subject
		default:
			ws = append(ws, w)
		}
	}
	for _, find := range clauseReaders {
		about, f := find(ws)
		var ok bool
		if f.subject, f.name, ok = subject(about); ok {
			f.denied = f.denied != denied
			return f, f.value != ""
		}
	}
	return fact{}, false
}

// contractedDenials contain the verb "be", which readClause keeps.
var contractedDenials = set("isn't aren't isn’t aren’t")

// subject parses the words before a verb. It rejects more than five words, and pronouns.
func subject(ws []word) (folded, shown string, ok bool) {
	for len(ws) > 1 && (ws[len(ws)-1].stem == "be" || ws[len(ws)-1].stem == "hav") { // "has been moved to"
		ws = ws[:len(ws)-1]
	}
	for len(ws) > 1 && (possessivePronouns[ws[0].lower] || ws[0].lower == "user" && !ws[0].possessive) {
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

// valuePrepositions may precede a value and are not part of it.
var valuePrepositions = set("in on at to every by")

// maxValue bounds the words of a value: a longer one is a story.
const maxValue = 6

// value parses the words after a verb, up to a word that ends a value.
func value(ws []word) (stems, shown string, words []word) {
	for i, w := range ws {
		if clauseEnders[w.lower] || i > 0 && w.clauseBreak {
			ws = ws[:i]
			break
		}
	}
	for len(ws) > 0 && valuePrepositions[ws[0].lower] {
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

// normalizeTime gives times of day and ordinals one spelling.
func normalizeTime(w string) string {
	if isOrdinal(w) {
		return w[:len(w)-2]
	}
	if isClockTime(w) {
		return strings.TrimSuffix(strings.ReplaceAll(w, ":00", ""), "h")
	}
	return w
}

// distinctive reports whether a value can exclude others: it has a name, a number, a time or a word of a category.
func distinctive(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool {
		return isUpper(w.raw) || hasNumber(w.raw) || isTemporal(w.lower) || categories[w.lower] != "" || strings.ContainsAny(w.raw, "_/@.")
	})
}

func hasTime(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return isTemporal(w.lower) })
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

// setNoun sets the attribute and value of a fact with a possessive or definite subject. It reports whether the words
// are such a fact.
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

// findCopula returns the position of the copula ("is", "moved to") and of the word after it, or -1. The past tense is
// not a statement about now.
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
