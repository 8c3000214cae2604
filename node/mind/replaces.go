package mind

import (
	"slices"
	"strings"
	"unicode"
)

// A Replacement says how one statement replaces an older one.
type Replacement struct {
	How                        How
	Kind                       string // of a conflict
	Subject, Relation, Was, Is string // as far as they are known, as written
}

// How says what shows that a statement replaces another, the surest first.
type How uint8

// The ways.
const (
	Stated   How = iota // both give one subject the value of a relation that has one value at a time
	Reworded            // the same sentence with another value behind its verb, or with another holder before it
	Told                // the newer one says what has changed, and from what
	Changed             // the newer one says that something has changed, about the same things
)

// Relations are a database's changes to the relations that have one value at a time.
type Relations struct{ Single, Several []string }

// has reports whether a list has a relation, which is written with blanks or underscores.
func has(list []string, attr string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "_", " "), attr) })
}

// single reports whether a fact's relation has one value at a time.
func (r *Relations) single(f *fact) bool {
	attr := strings.TrimSpace(f.attr)
	return !has(r.Several, attr) && (f.single || has(r.Single, attr))
}

// A Statement is a text that was read, to be compared with several others.
type Statement struct {
	text  string
	facts []fact
	statement
	cue     bool     // it says that something has changed
	changes []change // what it says has changed
}

// Read reads a text.
func Read(text string) *Statement {
	text = text[:min(len(text), MaxRead)]
	said := sentences(text)
	return &Statement{text, factsOf(said), statementOf(said), hasCue(text), changesOf(said)}
}

// Which words of a statement LookFor returns.
const (
	fromFront = 4  // the first: byFrame finds only statements that begin with the same words
	fromBack  = 3  // the last: or that end with them
	mostWords = 10 // in all; the others fill up where the statement says that something has changed
)

// LookFor returns the words that an older statement has in common with this one if this one replaces it, blank if it
// cannot replace any. Most texts cannot, which is known without looking at another one.
func (a *Statement) LookFor() string {
	if question(a.text) {
		return ""
	}
	var words []string
	add := func(word string) {
		if len(words) < mostWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, c := range a.changes {
		for _, w := range slices.Concat(c.thing, c.was) {
			add(w.raw)
		}
	}
	for _, f := range a.facts {
		for word := range strings.FieldsSeq(f.name + " " + f.attr) {
			add(word)
		}
	}
	if !a.cue && !a.rewords() {
		return strings.Join(words, " ")
	}
	meaning := slices.DeleteFunc(slices.Clone(a.all), func(w word) bool { return w.is(functionWord) })
	n := len(meaning)
	for _, w := range meaning[:min(n, fromFront)] {
		add(w.raw)
	}
	for _, w := range meaning[max(0, n-fromBack):] {
		add(w.raw)
	}
	if a.cue {
		slices.SortStableFunc(meaning, func(x, y word) int { return len(y.raw) - len(x.raw) })
		for _, w := range meaning {
			add(w.raw)
		}
	}
	return strings.Join(words, " ")
}

// rewords reports whether byFrame may find that the statement replaces another: it has a verb that a value can
// follow.
func (s *statement) rewords() bool {
	if s.past || len(s.all) < 3 {
		return false
	}
	for i, w := range s.all {
		if i > 0 && (isCopula(w) || w.clauseBreak) || i > 0 && i < 5 && holds[w.stem] || i < 8 && isPlural(w) || measures(s.all[:i], s.all[i:]) {
			return true
		}
	}
	return false
}

// Replaces decides whether a statement replaces an older one of the same namespace, from the two texts alone.
func (a *Statement) Replaces(older string, relations Relations) (r Replacement, ok bool) {
	if question(a.text) || question(older) {
		return r, false
	}
	had := sentences(older)
	was, is := factsOf(had), a.facts
	if r, ok = byFacts(is, was, &relations); ok {
		return r, true
	}
	if r, ok = a.byChange(had); ok {
		return r, true
	}
	b := statementOf(had)
	if len(a.all) < 3 || len(b.all) < 3 || b.past {
		return r, false
	}
	if len(was) > 0 && len(is) > 0 && was[0].subject == is[0].subject && !a.moves &&
		(was[0].attr != is[0].attr || !relations.single(&was[0])) {
		return r, false // two things about one subject
	}
	r.Kind = "minor"
	a.compared()
	b.compared()
	if max(len(a.text), len(older)) < MaxRead { // else what is not read may differ too
		r.Was, r.Is, ok = byFrame(&a.statement, &b)
	}
	if ok {
		r.How = Reworded
		return r, true
	}
	r.How = Changed
	return r, byCue(a, &b)
}

func question(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), "?") }

// byFacts compares what the two texts say in forms that are known.
func byFacts(is, was []fact, relations *Relations) (Replacement, bool) {
	for _, f := range is {
		for _, o := range was {
			if f.subject != o.subject || f.attr != o.attr || f.denied && o.denied {
				continue
			}
			if f.denied != o.denied && f.value == o.value ||
				!f.denied && !o.denied && relations.single(&f) && relations.single(&o) && differ(f.value, o.value) {
				return Replacement{Stated, f.kind, f.name, strings.TrimSpace(f.attr), quote(o), quote(f)}, true
			}
		}
	}
	return Replacement{}, false
}

// A statement holds a text in the forms in which two are compared.
type statement struct {
	all   []word   // without what changes nothing
	the   []bool   // of all: "the" or "our" stands before it
	words []string // truncated stems that carry meaning, sorted, each once; see compared
	first string   // of them
	past  bool     // its first clause tells of what happened once
	moves bool     // it says that something has moved
}

func statementOf(text [][]word) (s statement) {
	n := 0
	for _, sentence := range text {
		n += len(sentence)
	}
	s.all, s.the = make([]word, 0, n), make([]bool, 0, n)
	clause := false
	for i, sentence := range text {
		for j := range sentence {
			w := &sentence[j]
			clause = clause || i > 0 || j > 0 && w.clauseBreak
			if w.is(filler) && !w.possessive {
				continue
			}
			s.past = s.past || !clause && j > 0 && j < 8 && happened(sentence, j)
			s.moves = s.moves || w.lower == "moved" || w.lower == "moves"
			s.all, s.the = append(s.all, *w), append(s.the, j > 0 && articles[sentence[j-1].lower])
		}
	}
	return s
}

// compared sets the words by which a statement is compared with another. Most statements are compared with none.
func (s *statement) compared() *statement {
	if s.words != nil {
		return s
	}
	s.words = make([]string, 0, len(s.all))
	for i := range s.all {
		if w := &s.all[i]; !w.is(functionWord | denial | changed) {
			s.words = append(s.words, truncateStem(normalizeTime(w.stem)))
		}
	}
	if len(s.words) > 0 {
		s.first = s.words[0]
	}
	slices.Sort(s.words)
	s.words = slices.Compact(s.words)
	return s
}

// happened reports whether a word is a verb that tells of what happened once: no participle behind "is".
func happened(ws []word, at int) bool {
	w := ws[at].lower
	if !(strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") || pasts[w] || events[w]) {
		return false
	}
	for _, before := range ws[max(0, at-2):at] {
		if before.stem == "be" || before.stem == "get" || strings.HasSuffix(before.lower, "'re") || strings.HasSuffix(before.lower, "’re") {
			return false
		}
	}
	return !ws[at-1].possessive
}

// truncateStem cuts a word so that its relatives are the same: collected and collection.
func truncateStem(w string) string {
	const letters = 6
	n := 0
	for i, r := range w {
		if !unicode.IsLetter(r) {
			return w
		}
		if n++; n == letters+1 {
			w = w[:i]
			break
		}
	}
	return w
}

// Words by which statements are told.
var (
	articles = set("the our")
	events   = set("went gave took made saw came bought sold sent paid found left told said asked won lost got read wrote broke fell felt")
	changing = set("now longer anymore instead new since only another moved move change changed switch switched replace replaced drop dropped remove removed")
	plural   = stems("likes loves enjoys knows speaks uses owns plays eats drinks wants has have hates supports reads watches contains includes asks says thinks needs")
	copula   = stems("is can may must will")
	holds    = stems("keeps leads chairs runs owns manages approves handles maintains hosts supplies heads directs coordinates moderates")
)

func isCopula(w word) bool { return copula[w.stem] }
func isPlural(w word) bool { return plural[w.stem] }

// byFrame compares two sentences word by word: they are the same but for one stretch, which stands behind the verb, or
// is who does what one at a time does.
func byFrame(a, b *statement) (was, is string, ok bool) {
	x, y := a.all, b.all
	n, m := common(x, y)
	in, out := x[n:len(x)-m], y[n:len(y)-m]
	both := shared(a.words, b.words)
	if len(out) == 0 || len(in) == 0 || both < 2 || a.past || b.past {
		return "", "", false
	}
	front, back, meaningful := x[:n], x[len(x)-m:], 0
	for _, w := range front {
		if !w.is(functionWord) {
			meaningful++
		}
	}
	verb := n > 1 && slices.ContainsFunc(front[1:], func(w word) bool { return isCopula(w) || w.clauseBreak })
	after := func(w word) bool { return isCopula(w) || isPlural(w) }
	if !verb && slices.ContainsFunc(in, isCopula) && slices.ContainsFunc(out, isCopula) || slices.ContainsFunc(back[:min(m, 3)], after) {
		return "", "", false // the subjects differ: room 4 is free, and room 5 is free
	}
	several := slices.ContainsFunc(front[:min(n, 8)], isPlural)
	switch {
	case verb && meaningful >= 2 && (hasNumber(in[0].raw) && hasNumber(out[0].raw) || numerals[in[0].lower] && numerals[out[0].lower]):
	case meaningful >= 2 && measures(front, in) && measures(front, out) && sameMeasure(in, out):
	case 2*both < min(len(a.words), len(b.words)):
		return "", "", false
	case verb && !several && (meaningful >= 2 || meaningful >= 1 && n >= 2):
	case n <= 1 && m >= 3 && len(in) <= 3 && len(out) <= 3 && holds[back[0].stem] && a.the[len(x)-m+1]:
	case several && m >= 2 && both >= 3 && forAs[back[0].lower]:
	default:
		return "", "", false
	}
	return rawText(out), rawText(in), true
}

// common counts the words that two sentences have in common at their beginning and at their end.
func common(x, y []word) (front, back int) {
	for front < len(x) && front < len(y) && x[front].stem == y[front].stem {
		front++
	}
	for back < len(x)-front && back < len(y)-front && x[len(x)-1-back].stem == y[len(y)-1-back].stem {
		back++
	}
	return front, back
}

func rawText(ws []word) string {
	var s []string
	for _, w := range ws[:min(len(ws), maxValue)] {
		s = append(s, w.raw)
	}
	return strings.Join(s, " ")
}

// strongShare is the share of the words of the shorter of two statements that both have, from which they are about the
// same where the newer says that something has changed.
const strongShare = .3

// byCue compares a statement that says that something has changed with an older one about the same.
func byCue(a *Statement, b *statement) bool {
	if !a.cue {
		return false
	}
	about := 0 // words that are neither numbers nor times
	for _, w := range a.words {
		if !temporal(w) && !digit(w) && !numerals[w] && !notIn(b.words)(w) {
			about++
		}
	}
	least := float64(min(len(a.words), len(b.words)))
	named := func(w word) bool { return hasNumber(w.raw) || isUpper(w.raw) }
	alike := a.first == b.first
	if about < 2 || alike && a.all[1].stem != b.all[1].stem && named(a.all[1]) && named(b.all[1]) {
		return false // Ann Lee and Ann Cole, room 4 and room 5
	}
	if a.gives(b.first) {
		return false // Priya owns checkout, and search was handed to Priya
	}
	says := slices.ContainsFunc(a.words, notIn(b.words)) && slices.ContainsFunc(b.words, notIn(a.words)) // neither repeats the other
	return says && !(alike && subjectsDiffer(a.all, b.all)) && (about >= 3 || !notIn(b.words)(a.first) || !notIn(a.words)(b.first)) &&
		float64(about) >= strongShare*least
}

// gives reports whether a statement has a word only where something goes to it: the word is the new value, and an
// older statement that begins with it is about something else.
func (s *statement) gives(word string) (to bool) {
	for i := range s.all {
		if truncateStem(normalizeTime(s.all[i].stem)) != word {
			continue
		}
		if i == 0 || s.all[i-1].lower != "to" {
			return false
		}
		to = true
	}
	return to
}

// subjectsDiffer reports whether what two sentences have in common at their beginning is a part of their subjects
// alone.
func subjectsDiffer(a, b []word) bool {
	n, _ := common(a, b)
	if n > 1 && n < len(a) && n < len(b) && a[n].is(changed) && isCopula(b[n]) {
		return false // flags moved to, flags are kept in
	}
	return !slices.ContainsFunc(a[:n], isCopula) && slices.ContainsFunc(a[n:], isCopula) && slices.ContainsFunc(b[n:], isCopula)
}

// States reports whether a text has the words of a relation, and denies nothing.
func States(text, relation string) bool {
	ws := slices.Concat(sentences(text)...)
	if slices.ContainsFunc(ws, func(w word) bool { return w.is(denial) || w.lower == "longer" }) {
		return false
	}
	for name := range strings.FieldsSeq(strings.ReplaceAll(strings.ToLower(relation), "_", " ")) {
		if !functionWords[name] && !slices.ContainsFunc(ws, func(w word) bool { return truncateStem(w.stem) == truncateStem(stem(name)) }) {
			return false
		}
	}
	return true
}
