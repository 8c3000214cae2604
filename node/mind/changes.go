package mind

import (
	"slices"
	"strings"
)

// A change is a clause that says what has changed: "the standup moved to 10", "we renamed the dog to Bruno", "Sam
// sold his Golf". It replaces older statements about the thing, or with its old value. The older statement need not
// begin with the same words.
type change struct {
	kind    changeKind
	thing   []word // the thing that changed; empty if the clause names only its old value
	by      []word // the agent or owner of the change; empty if not stated
	was     []word // the old value, if stated
	is      []word // the new value
	purpose []word // the purpose of the new value, if stated
}

// A changeKind is the property that a verb changes. It limits the older statements that the change can replace.
type changeKind uint8

const (
	unchanged changeKind = iota
	moving               // the place or the time
	timing               // the time
	amount               // a number
	naming               // the name
	writing              // the programming language or framework
	swapping             // one thing is used instead of another
	ending               // the thing is no longer owned or used
)

// changeVerbs maps the past tense of verbs of change to their kinds.
var changeVerbs = func() map[string]changeKind {
	m := map[string]changeKind{}
	for sort, verbs := range map[changeKind]string{
		moving:   "moved migrated relocated shifted",
		timing:   "postponed pushed delayed slipped rescheduled rebooked",
		amount:   "raised lowered cut increased reduced extended shortened bumped",
		naming:   "renamed",
		writing:  "rewrote rewritten ported",
		swapping: "switched changed replaced swapped",
		ending:   "sold dropped cancelled canceled ditched",
	} {
		for v := range strings.FieldsSeq(verbs) {
			m[v] = sort
		}
	}
	return m
}()

// Word lists for parsing a change and the statements that it may replace.
var (
	toPrepositions   = set("to into in with by until")
	changeParticles  = set("back forward forwards up down out over all everything it again")
	uncertainWords   = set("nobody noone will would should could might if maybe")
	groupWords       = set("we i user team everyone company us")
	locationVerbs    = set("is are lives live runs run sits stands stays happens meets resides")
	possessionVerbs  = set("uses use drives drive owns own has have rides ride")
	stateVerbs       = set("is are uses use used drives drive owns own has have runs run prefers wears rides plays drinks eats takes takes keeps")
	stateParticiples = set("planned scheduled set due held kept hosted deployed stored based located written implemented built called named run")
	prepositions     = set("in on at to for from by with within under every")
)

// maxChangeSentences bounds the sentences of a text that changesOf examines.
const maxChangeSentences = 4

// changesOf parses the changes in a text's first sentences.
func changesOf(text [][]word) (out []change) {
	for _, sentence := range text[:min(len(text), maxChangeSentences)] {
		verb := slices.IndexFunc(sentence, func(w word) bool { return changeVerbs[w.lower] != unchanged })
		if verb < 1 {
			continue
		}
		if c := changeOf(sentence, verb); c.kind != unchanged {
			out = append(out, c)
		}
	}
	return out
}

// changeOf parses the clause around a verb of change. It returns a zero change if the clause is not one.
func changeOf(sentence []word, verb int) (c change) {
	from, to := verb, verb+1
	for from > 0 && !sentence[from].clauseBreak {
		from--
	}
	for to < len(sentence) && !sentence[to].clauseBreak && (!clauseEnders[sentence[to].lower] || sentence[to].lower == "with") && sentence[to].lower != "and" {
		to++
	}
	left, right := contentWords(sentence[from:verb]), sentence[verb+1:to]
	for len(right) > 0 && changeParticles[right[0].lower] {
		right = right[1:]
	}
	if slices.ContainsFunc(sentence[from:verb], func(w word) bool { return w.is(denial) || uncertainWords[w.lower] }) {
		return change{}
	}
	c.kind = changeVerbs[sentence[verb].lower]
	at := slices.IndexFunc(right, func(w word) bool { return w.lower == "from" || toPrepositions[w.lower] })
	if at < 0 {
		at = len(right)
	}
	c.thing, c.by = contentWords(right[:at]), left
	passive := len(c.thing) == 0
	if passive {
		c.thing, c.by = left, nil
	}
	rest := right[at:]
	if len(rest) > 0 && rest[0].lower == "from" {
		end := slices.IndexFunc(rest[1:], func(w word) bool { return toPrepositions[w.lower] }) + 1
		if end == 0 {
			end = len(rest)
		}
		c.was, rest = contentWords(rest[1:end]), rest[end:]
	}
	if len(rest) > 0 {
		end := phraseEnd(rest[1:]) + 1
		c.is = contentWords(rest[1:end])
		c.purpose = slices.DeleteFunc(contentWords(rest[end:]), func(w word) bool { return isTemporal(w.lower) || hasNumber(w.lower) })
	}
	switch c.kind {
	case ending:
		c.was, c.thing, c.is = c.thing, nil, nil
		if passive {
			return change{}
		}
	case swapping:
		if sentence[verb].lower == "replaced" {
			c.was, c.thing = c.thing, nil
		} else if len(c.was) > 0 && passive {
			c.thing, c.by = nil, left // "we switched from Slack to Zulip"
		}
	}
	if len(c.thing)+len(c.was) == 0 || len(c.thing) > 5 || len(c.was) > 3 || c.kind != ending && len(c.is) == 0 {
		return change{}
	}
	return c
}

// contentWords returns the words that are compared: it drops fillers and function words.
func contentWords(ws []word) (out []word) {
	for _, w := range ws {
		if !w.is(functionWord|filler) || w.possessive || isUpper(w.raw) && months[w.lower] {
			out = append(out, w)
		}
	}
	return out
}

// replacesByChange compares the statement's changes with the first sentence of an older text.
func (a *Statement) replacesByChange(older [][]word) (Replacement, bool) {
	if len(older) == 0 || slices.ContainsFunc(older[0], func(w word) bool { return pastVerbs[w.lower] }) {
		return Replacement{}, false
	}
	for _, c := range a.changes {
		if was, ok := c.replaces(older[0]); ok {
			return Replacement{How: Told, Kind: "minor", Subject: rawText(c.thing), Was: rawText(was), Is: rawText(c.is)}, true
		}
	}
	return Replacement{}, false
}

// phraseEnd returns the number of words before the first preposition after the first word.
func phraseEnd(ws []word) int {
	for i, w := range ws {
		if i > 0 && prepositions[w.lower] {
			return i
		}
	}
	return len(ws)
}

// A parsedClaim is an older statement, split to be compared with a change: "the release | is planned for | March 3".
type parsedClaim struct {
	front       []word
	verb        string
	participle  string
	preposition string // the preposition before the value
	article     bool   // an article precedes the value
	value       []word // up to the next preposition
}

// parseClaim splits a sentence at the first of the given verbs.
func parseClaim(sentence []word, verbs map[string]bool) (o parsedClaim, ok bool) {
	verb := -1
	for i := 1; i < len(sentence) && i <= 7 && !sentence[i].clauseBreak && verb < 0; i++ {
		if verbs[sentence[i].lower] {
			verb = i
		}
	}
	if verb < 0 || slices.ContainsFunc(sentence, func(w word) bool { return w.is(denial) }) {
		return o, false
	}
	o.front, o.verb = contentWords(sentence[:verb]), sentence[verb].lower
	rest := sentence[verb+1:]
	end := slices.IndexFunc(rest, func(w word) bool { return w.clauseBreak || clauseEnders[w.lower] })
	if end >= 0 {
		rest = rest[:end]
	}
	for ; len(rest) > 0; rest = rest[1:] {
		switch w := rest[0]; {
		case stateParticiples[w.lower]:
			o.participle = w.lower
		case prepositions[w.lower]:
			o.preposition = w.lower
		case w.lower == "a" || w.lower == "an" || articles[w.lower] || possessivePronouns[w.lower]:
			o.article = true
		case !w.is(filler):
			o.value = contentWords(rest[:phraseEnd(rest)])
			return o, len(o.value) > 0
		}
	}
	return o, false
}

// replaces reports whether the change makes an older statement obsolete, and returns its value.
func (c *change) replaces(sentence []word) (was []word, ok bool) {
	verbs := stateVerbs
	switch {
	case c.kind == ending:
		verbs = possessionVerbs
	case len(c.thing) > 0 && c.kind != naming:
		verbs = locationVerbs
	}
	o, ok := parseClaim(sentence, verbs)
	if !ok || len(c.was) > 0 && !sameWords(o.value, c.was) || slices.ContainsFunc(c.purpose, func(w word) bool { return !containsWord(w, sentence) }) {
		return nil, false
	}
	if len(c.thing) == 0 {
		return o.value, c.sameHolder(o.front)
	}
	if c.kind == naming {
		return o.value, c.renames(&o)
	}
	return o.value, sameWords(o.front, c.thing) && (len(c.was) > 0 || c.sameKind(&o))
}

// renames reports whether an older statement uses the thing's old name as a value, or states its name.
func (c *change) renames(o *parsedClaim) bool {
	n := len(o.front) - 1
	return sameWords(o.value, c.thing) && !o.article || // the default branch is master
		(o.participle == "called" || o.participle == "named") && sameWords(o.front, c.thing) ||
		n >= 0 && o.front[n].lower == "name" && sameWords(o.front[:n], c.thing)
}

// sameKind reports whether the old and the new value are of one kind: two times, two numbers with the same unit, two
// names.
func (c *change) sameKind(o *parsedClaim) bool {
	named := isUpper(o.value[0].raw)
	alike := hasTime(o.value) == hasTime(c.is) && (hasTime(c.is) || anyNumber(o.value) == anyNumber(c.is) && named == isUpper(c.is[0].raw))
	switch c.kind {
	case writing:
		return o.participle == "written" || o.participle == "implemented" || o.participle == "built"
	case amount:
		return anyNumber(o.value) && anyNumber(c.is) && hasTime(o.value) == hasTime(c.is) &&
			(len(o.value) < 2 || len(c.is) < 2 || o.value[1].stem == c.is[1].stem || sameQuantity(o.value[1].stem, c.is[1].stem))
	case timing:
		return hasTime(o.value) && hasTime(c.is)
	case moving:
		somewhere := o.preposition == "in" || o.preposition == "at" || o.preposition != "" && (o.participle != "" || o.verb != "is" && o.verb != "are")
		return alike && (hasTime(c.is) || somewhere && (named || o.article && !isUpper(c.thing[0].raw)))
	}
	return alike && (named || hasTime(c.is) || anyNumber(c.is))
}

// sameHolder reports whether the older statement's subject is who made the change, or whether both are a group such
// as "we".
func (c *change) sameHolder(front []word) bool {
	anybody := func(ws []word) bool {
		return !slices.ContainsFunc(ws, func(w word) bool { return !groupWords[w.lower] })
	}
	return anybody(c.by) && anybody(front) || sameWords(front, c.by)
}

// sameWords reports whether two phrases have the same words, in any order.
func sameWords(a, b []word) bool {
	missing := func(of, from []word) bool {
		return slices.ContainsFunc(of, func(w word) bool { return !containsWord(w, from) })
	}
	return len(a) > 0 && len(b) > 0 && !missing(a, b) && !missing(b, a)
}

// containsWord reports whether words contain w or another form of it.
func containsWord(w word, ws []word) bool {
	return slices.ContainsFunc(ws, func(o word) bool { return truncateStem(o.stem) == truncateStem(w.stem) })
}
