package mind

import (
	"slices"
	"strings"
	"unicode"
)

// A Replacement tells how one statement replaces an older one.
type Replacement struct {
	How                        How
	Kind                       string // type of the conflict
	Subject, Relation, Was, Is string // as written; empty if unknown
}

// How is the evidence that a statement replaces another, the strongest first.
type How uint8

// The kinds of evidence.
const (
	Stated   How = iota // both give one subject the value of a relation that has one value at a time
	Reworded            // the same sentence with another value after its verb, or another holder before it
	Told                // the newer one names the change
	Changed             // the newer one has a change phrase and is about the same things
)

// Relations holds a database's overrides of the relations that have one value at a time, or several.
type Relations struct{ Single, Several []string }

// containsRelation reports whether a list contains a relation, written with spaces or underscores.
func containsRelation(list []string, attr string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "_", " "), attr) })
}

// single reports whether a fact's relation has one value at a time.
func (r *Relations) single(f *fact) bool {
	attr := strings.TrimSpace(f.attr)
	return !containsRelation(r.Several, attr) && (f.single || containsRelation(r.Single, attr))
}

// A Statement is a parsed text, ready to be compared with several others.
type Statement struct {
	text  string
	facts []fact
	statement
	saysChanged bool     // the text has a change phrase
	changes     []change // the changes that the text names
}

// Read parses a text.
func Read(text string) *Statement {
	text = text[:min(len(text), MaxRead)]
	parsed := sentences(text)
	return &Statement{text, factsOf(parsed), statementOf(parsed), hasChangePhrase(text), changesOf(parsed)}
}

// The words of a statement that LookFor returns.
const (
	fromFront = 4  // first words: replacesByWording needs a common beginning
	fromBack  = 3  // last words: or a common end
	mostWords = 10 // in all; with a change phrase, the longest other words fill up
)

// LookFor returns search terms for older statements that this one may replace, empty if it cannot replace any. Most
// texts cannot, and that needs no look at another text.
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
	if !a.saysChanged && !a.canReword() {
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
	if a.saysChanged {
		slices.SortStableFunc(meaning, func(x, y word) int { return len(y.raw) - len(x.raw) })
		for _, w := range meaning {
			add(w.raw)
		}
	}
	return strings.Join(words, " ")
}

// canReword reports whether replacesByWording may find that the statement replaces another: it has a verb that a
// value can follow.
func (s *statement) canReword() bool {
	if s.past || len(s.all) < 3 {
		return false
	}
	for i, w := range s.all {
		if i > 0 && (isCopula(w) || w.clauseBreak) || i > 0 && i < 5 && singleHolderVerbs[w.stem] || i < 8 && isMultiValuedVerb(w) || beginsWithMeasure(s.all[:i], s.all[i:]) {
			return true
		}
	}
	return false
}

// Replaces decides whether the statement replaces an older one of the same namespace, from the two texts alone.
func (a *Statement) Replaces(older string, relations Relations) (r Replacement, ok bool) {
	if question(a.text) || question(older) {
		return r, false
	}
	olderText := sentences(older)
	was, is := factsOf(olderText), a.facts
	if r, ok = replacesByFacts(is, was, &relations); ok {
		return r, true
	}
	if r, ok = a.replacesByChange(olderText); ok {
		return r, true
	}
	b := statementOf(olderText)
	if len(a.all) < 3 || len(b.all) < 3 || b.past {
		return r, false
	}
	if len(was) > 0 && len(is) > 0 && was[0].subject == is[0].subject && !a.moves &&
		(was[0].attr != is[0].attr || !relations.single(&was[0])) {
		return r, false // two different attributes of one subject
	}
	r.Kind = "minor"
	a.prepareWords()
	b.prepareWords()
	if max(len(a.text), len(older)) < MaxRead { // else the unread parts may differ too
		r.Was, r.Is, ok = replacesByWording(&a.statement, &b)
	}
	if ok {
		r.How = Reworded
		return r, true
	}
	r.How = Changed
	return r, replacesByChangePhrase(a, &b)
}

// question reports whether a text ends with a question mark.
func question(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), "?") }

// replacesByFacts compares the facts of two texts.
func replacesByFacts(is, was []fact, relations *Relations) (Replacement, bool) {
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

// A statement holds the words of a text in the forms in which two texts are compared.
type statement struct {
	all      []word   // without fillers
	definite []bool   // by index in all: "the" or "our" precedes the word
	words    []string // meaningful truncated stems, sorted and distinct; set by prepareWords
	first    string   // the first of words, in the order of the text
	past     bool     // its first clause is about a past event
	moves    bool     // it contains "moved" or "moves"
}

func statementOf(text [][]word) (s statement) {
	n := 0
	for _, sentence := range text {
		n += len(sentence)
	}
	s.all, s.definite = make([]word, 0, n), make([]bool, 0, n)
	clause := false
	for i, sentence := range text {
		for j := range sentence {
			w := &sentence[j]
			clause = clause || i > 0 || j > 0 && w.clauseBreak
			if w.is(filler) && !w.possessive {
				continue
			}
			s.past = s.past || !clause && j > 0 && j < 8 && isPastEvent(sentence, j)
			s.moves = s.moves || w.lower == "moved" || w.lower == "moves"
			s.all, s.definite = append(s.all, *w), append(s.definite, j > 0 && articles[sentence[j-1].lower])
		}
	}
	return s
}

// prepareWords sets words and first on first use. Most statements are never compared with another.
func (s *statement) prepareWords() *statement {
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

// isPastEvent reports whether a word is a verb in the past tense. A participle after "is" is not.
func isPastEvent(ws []word, at int) bool {
	w := ws[at].lower
	if !(strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") || pastVerbs[w] || eventVerbs[w]) {
		return false
	}
	for _, before := range ws[max(0, at-2):at] {
		if before.stem == "be" || before.stem == "get" || strings.HasSuffix(before.lower, "'re") || strings.HasSuffix(before.lower, "’re") {
			return false
		}
	}
	return !ws[at-1].possessive
}

// truncateStem cuts a word to its first letters, so that related words are equal: collected and collection.
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

// Word lists for the comparison of statements.
var (
	articles          = set("the our")
	eventVerbs        = set("went gave took made saw came bought sold sent paid found left told said asked won lost got read wrote broke fell felt")
	changeWords       = set("now longer anymore instead new since only another moved move change changed switch switched replace replaced drop dropped remove removed")
	multiValuedVerbs  = stems("likes loves enjoys knows speaks uses owns plays eats drinks wants has have hates supports reads watches contains includes asks says thinks needs")
	copula            = stems("is can may must will")
	singleHolderVerbs = stems("keeps leads chairs runs owns manages approves handles maintains hosts supplies heads directs coordinates moderates")
)

func isCopula(w word) bool          { return copula[w.stem] }
func isMultiValuedVerb(w word) bool { return multiValuedVerbs[w.stem] }

// replacesByWording compares two sentences word by word. The newer one replaces the older one if they differ in one
// stretch, which is either the value after the verb or the one holder of a role before it.
func replacesByWording(a, b *statement) (was, is string, ok bool) {
	newer, older := a.all, b.all
	frontLen, backLen := common(newer, older)
	added, removed := newer[frontLen:len(newer)-backLen], older[frontLen:len(older)-backLen]
	both := shared(a.words, b.words)
	if len(removed) == 0 || len(added) == 0 || both < 2 || a.past || b.past {
		return "", "", false
	}
	front, back, meaningful := newer[:frontLen], newer[len(newer)-backLen:], 0
	for _, w := range front {
		if !w.is(functionWord) {
			meaningful++
		}
	}
	verb := frontLen > 1 && slices.ContainsFunc(front[1:], func(w word) bool { return isCopula(w) || w.clauseBreak })
	after := func(w word) bool { return isCopula(w) || isMultiValuedVerb(w) }
	if !verb && slices.ContainsFunc(added, isCopula) && slices.ContainsFunc(removed, isCopula) || slices.ContainsFunc(back[:min(backLen, 3)], after) {
		return "", "", false // different subjects: room 4 is free, room 5 is free
	}
	several := slices.ContainsFunc(front[:min(frontLen, 8)], isMultiValuedVerb)
	switch {
	case verb && meaningful >= 2 && (hasNumber(added[0].raw) && hasNumber(removed[0].raw) || numerals[added[0].lower] && numerals[removed[0].lower]):
	case meaningful >= 2 && beginsWithMeasure(front, added) && beginsWithMeasure(front, removed) && sameMeasure(added, removed):
	case 2*both < min(len(a.words), len(b.words)):
		return "", "", false
	case verb && !several && (meaningful >= 2 || meaningful >= 1 && frontLen >= 2):
	case frontLen <= 1 && backLen >= 3 && len(added) <= 3 && len(removed) <= 3 && singleHolderVerbs[back[0].stem] && a.definite[len(newer)-backLen+1]:
	case several && backLen >= 2 && both >= 3 && forAs[back[0].lower]:
	default:
		return "", "", false
	}
	return rawText(removed), rawText(added), true
}

// common returns how many words two sentences share at the beginning and at the end.
func common(x, y []word) (front, back int) {
	for front < len(x) && front < len(y) && x[front].stem == y[front].stem {
		front++
	}
	for back < len(x)-front && back < len(y)-front && x[len(x)-1-back].stem == y[len(y)-1-back].stem {
		back++
	}
	return front, back
}

// rawText joins the first words as written, at most maxValue.
func rawText(ws []word) string {
	var s []string
	for _, w := range ws[:min(len(ws), maxValue)] {
		s = append(s, w.raw)
	}
	return strings.Join(s, " ")
}

// strongShare is the least share of the shorter statement's words that both must have for a change phrase to count.
const strongShare = .3

// replacesByChangePhrase reports whether a statement with a change phrase is about the same things as an older one.
func replacesByChangePhrase(a *Statement, b *statement) bool {
	if !a.saysChanged {
		return false
	}
	about := 0 // common words that are neither numbers nor times
	for _, w := range a.words {
		if !isTemporal(w) && !allDigits(w) && !numerals[w] && !notIn(b.words)(w) {
			about++
		}
	}
	least := float64(min(len(a.words), len(b.words)))
	named := func(w word) bool { return hasNumber(w.raw) || isUpper(w.raw) }
	alike := a.first == b.first
	if about < 2 || alike && a.all[1].stem != b.all[1].stem && named(a.all[1]) && named(b.all[1]) {
		return false // different names: Ann Lee and Ann Cole, room 4 and room 5
	}
	if a.isRecipient(b.first) {
		return false // different subjects: Priya owns checkout, search was handed to Priya
	}
	eachAdds := slices.ContainsFunc(a.words, notIn(b.words)) && slices.ContainsFunc(b.words, notIn(a.words))
	return eachAdds && !(alike && subjectsDiffer(a.all, b.all)) && (about >= 3 || !notIn(b.words)(a.first) || !notIn(a.words)(b.first)) &&
		float64(about) >= strongShare*least
}

// isRecipient reports whether a word occurs in the statement, and only after "to". The word is then the new value,
// and an older statement that begins with it is about something else.
func (s *statement) isRecipient(word string) (found bool) {
	for i := range s.all {
		if truncateStem(normalizeTime(s.all[i].stem)) != word {
			continue
		}
		if i == 0 || s.all[i-1].lower != "to" {
			return false
		}
		found = true
	}
	return found
}

// subjectsDiffer reports whether the common beginning of two sentences ends before their verbs, so that their
// subjects differ.
func subjectsDiffer(a, b []word) bool {
	n, _ := common(a, b)
	if n > 1 && n < len(a) && n < len(b) && a[n].is(changed) && isCopula(b[n]) {
		return false // "flags moved to", "flags are kept in"
	}
	return !slices.ContainsFunc(a[:n], isCopula) && slices.ContainsFunc(a[n:], isCopula) && slices.ContainsFunc(b[n:], isCopula)
}

// States reports whether a text contains the words of a relation and no denial.
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
