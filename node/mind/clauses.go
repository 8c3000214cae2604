package mind

import (
	"slices"
	"strings"
)

// clauseReaders parse a clause, each in one form, the most reliable first. They return the words of the subject,
// which readClause parses, and the other fields of the fact; no words if the clause does not have their form.
var clauseReaders = []func([]word) (about []word, f fact){possessive, ofPhrase, inverse, usesFor, prefers, hasNumbered, aged,
	verbFrame, definite, predicate}

// indexIn returns the index of the first word from position from to position to (inclusive) that is in the set, or
// -1.
func indexIn(ws []word, from, to int, of map[string]bool) int {
	for i := from; i < len(ws) && i <= to; i++ {
		if of[ws[i].lower] {
			return i
		}
	}
	return -1
}

// possessive reads "Alice's birthday is May 3" and "my favorite color is green".
func possessive(ws []word) (about []word, f fact) {
	at := slices.IndexFunc(ws, func(w word) bool { return w.possessive })
	if indexIn(ws, 0, 0, possessivePronouns) == 0 {
		at = 0
	}
	if at < 0 || at > 4 {
		return nil, f
	}
	v, next := findCopula(ws, at+1)
	if v < at+2 || v > at+5 || !f.setNoun(ws[at+1:v], ws[next:]) {
		return nil, f
	}
	return ws[:at+1], f
}

// ofPhrase reads "the deadline for Apollo is Friday".
func ofPhrase(ws []word) (about []word, f fact) {
	at := indexIn(ws, 1, 3, forOf)
	if at < 0 {
		return nil, f
	}
	v, next := findCopula(ws, at+1)
	if v < at+2 || v > at+6 || !f.setNoun(ws[:at], ws[next:]) {
		return nil, f
	}
	return ws[at+1 : v], f
}

// definite reads "the staging password is swordfish9": a subject with an article names one thing.
func definite(ws []word) (about []word, f fact) {
	v, next := findCopula(ws, 1)
	if v < 1 || v > 5 || next >= len(ws) {
		return nil, f
	}
	about = ws[:v]
	if state := exclusiveStates[ws[next].lower]; state != "" && next == len(ws)-1 {
		return about, fact{attr: "is " + state, value: ws[next].lower, shown: ws[next].raw, kind: identity, single: true}
	}
	last := ws[v-1]
	// "Alice is …" may have many values.
	if isUpper(last.raw) && !singleValued[last.stem] && (!hasTime(ws[next:]) || !introducesTime(ws[next])) {
		return nil, f
	}
	val, shown, vw := value(ws[next:])
	if val == "" || !distinctive(vw) || multiValued[last.stem] || strings.HasSuffix(vw[0].lower, "ing") {
		return nil, f
	}
	folded, _, _ := subject(about)
	return about, fact{attr: "is", value: val, shown: shown, single: true, kind: kindOf(folded, vw)}
}

// predicate reads "Maria is vegetarian". Only the denial of the statement contradicts it.
func predicate(ws []word) (about []word, f fact) {
	v, next := findCopula(ws, 1)
	if v < 1 || v > 3 || next != len(ws)-1 || !isUpper(ws[0].raw) || strings.HasSuffix(ws[next].lower, "ing") || isTemporal(ws[next].lower) {
		return nil, f
	}
	f.attr, f.kind = "is so", identity
	f.value, f.shown, _ = value(ws[next:])
	return ws[:v], f
}

// introducesTime reports whether a word introduces a time: "is on Friday", "is at 9".
func introducesTime(w word) bool {
	return w.lower == "on" || w.lower == "at" || w.lower == "in" || w.lower == "due" || isTemporal(w.lower)
}

// inverse reads "Alice is the CTO of Acme" as a fact about Acme: only one person at a time holds such a post.
func inverse(ws []word) (about []word, f fact) {
	v, next := findCopula(ws, 1)
	if v < 1 || v > 4 || ws[v].lower != "is" {
		return nil, f
	}
	for at := next + 1; at < len(ws)-1 && at <= next+2; at++ {
		if ws[at].lower != "of" && ws[at].lower != "at" || !exclusiveRoles[ws[at-1].lower] {
			continue
		}
		_, holder, ok := subject(ws[:v])
		_, _, org := value(ws[at+1:])
		if !ok || len(org) == 0 || !isUpper(ws[0].raw) || !isUpper(org[0].raw) {
			break
		}
		f = fact{attr: ws[at-1].stem, shown: holder, kind: identity, single: true}
		f.value, _, _ = value(ws[:v])
		return org, f
	}
	return nil, f
}

// exclusiveRoles are roles that one person at a time holds.
var exclusiveRoles = set("ceo cto cfo coo president chair chairman chairwoman mayor captain lead leader head director principal owner")

// exclusiveStates maps a state to its group; of each group one holds at a time.
var exclusiveStates = func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"left-handed right-handed", "enabled disabled", "open closed",
		"married single divorced widowed", "public private",
		"online offline", "approved rejected", "active inactive", "alive dead", "locked unlocked", "mandatory optional",
		"deprecated supported"} {
		for w := range strings.FieldsSeq(group) {
			m[w] = group
		}
	}
	return m
}()

// numerals are spelled-out numbers.
var numerals = set("no one two three four five six seven eight nine ten eleven twelve")

// hasNumbered reads "Carol has two children", "the server has 16 GB of memory".
func hasNumbered(ws []word) (about []word, f fact) {
	for i := 1; i+2 < len(ws) && i <= 5; i++ {
		if ws[i].lower != "has" || !allDigits(ws[i+1].lower) && !numerals[ws[i+1].lower] {
			continue
		}
		what, _, _ := value(ws[i+2:])
		if what == "" || strings.Count(what, " ") > 3 {
			break
		}
		return ws[:i], fact{attr: "has " + what, value: ws[i+1].lower, shown: ws[i+1].raw, kind: identity, single: true}
	}
	return nil, f
}

// usesFor reads "we use Postgres for billing". One purpose has one tool.
func usesFor(ws []word) (about []word, f fact) {
	for i := 1; i < len(ws)-3 && i <= 5; i++ {
		if ws[i].stem != useStem || ws[i].lower == "used" {
			continue
		}
		j := indexIn(ws[:len(ws)-1], i+2, i+4, forAs)
		if j < 0 {
			continue
		}
		purpose, _, pw := value(ws[j+1:])
		v, shown, vw := value(ws[i+1 : j])
		if purpose == "" || v == "" || len(pw) > 4 || !distinctive(vw) {
			break
		}
		return ws[:i], fact{attr: "uses for " + purpose, value: v, shown: shown, single: true, kind: kindOf("", vw)}
	}
	return nil, f
}

// prefers reads "Alice prefers tea over coffee", "prefers Vim for Go", "prefers Postgres". Two preferences exclude
// each other only for the same purpose or within one category.
func prefers(ws []word) (about []word, f fact) {
	at := indexIn(ws, 1, 5, preferVerbs)
	if at < 0 {
		return nil, f
	}
	rest := ws[at+1:]
	cut := indexIn(rest, 1, len(rest), preferenceWords)
	if cut < 0 {
		cut = len(rest)
	}
	v, shown, vw := value(rest[:cut])
	if v == "" {
		return nil, f
	}
	f = fact{attr: "prefers", value: v, shown: shown, kind: "preference"}
	if cut < len(rest) {
		if other, _, _ := value(rest[cut+1:]); other != "" {
			f.single = true
			if comparisonWords[rest[cut].lower] {
				f.attr = "prefers among " + min(v, other) + " and " + max(v, other)
			} else {
				f.attr = "prefers for " + other
			}
		}
	} else if c := categories[vw[0].lower]; len(vw) == 1 && c != "" {
		f.attr, f.single = "prefers in "+c, true
	}
	return ws[:at], f
}

// aged reads "Alice is 34 years old".
func aged(ws []word) (about []word, f fact) {
	for i := 1; i+3 < len(ws) && i <= 5; i++ {
		if ws[i].lower == "is" && allDigits(ws[i+1].lower) && ws[i+2].stem == "year" && ws[i+3].lower == "old" {
			return ws[:i], fact{attr: "age", value: ws[i+1].lower, shown: ws[i+1].raw, kind: identity, single: true}
		}
	}
	return nil, f
}

// Word lists of the forms above.
var (
	useStem            = stem("uses")
	possessivePronouns = set("my our")
	forOf              = set("for of")
	forAs              = set("for as")
	preferVerbs        = set("prefers prefer")
	comparisonWords    = set("over to than")
	preferenceWords    = set("over to than for in on at when")
)
