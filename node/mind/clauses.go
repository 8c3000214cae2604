package mind

import "strings"

// possessive reads "Alice's birthday is May 3" and "my favorite color is green".
func possessive(ws []word) (f fact, ok bool) {
	at := -1
	for i, w := range ws {
		if w.own || i == 0 && (w.low == "my" || w.low == "our") {
			at = i
			break
		}
	}
	if at < 0 || at > 4 {
		return f, false
	}
	v, next := be(ws, at+1)
	if v < at+2 || v > at+5 {
		return f, false
	}
	if !ws[at].own {
		f.subject = selfWords[ws[at].low]
		f.name = f.subject
	} else if f.subject, f.name, ok = subject(ws[:at+1]); !ok {
		return f, false
	}
	return f, f.noun(ws[at+1:v], ws[next:])
}

// ofPhrase reads "the deadline for Apollo is Friday".
func ofPhrase(ws []word) (f fact, ok bool) {
	at := -1
	for i, w := range ws {
		if i > 0 && i <= 3 && (w.low == "for" || w.low == "of") {
			at = i
			break
		}
	}
	if at < 0 {
		return f, false
	}
	v, next := be(ws, at+1)
	if v < at+2 || v > at+6 {
		return f, false
	}
	if f.subject, f.name, ok = subject(ws[at+1 : v]); !ok {
		return f, false
	}
	return f, f.noun(ws[:at], ws[next:])
}

// definite reads "the staging password is swordfish9": what has an article is one thing.
func definite(ws []word) (f fact, ok bool) {
	v, next := be(ws, 1)
	if v < 1 || v > 5 || next >= len(ws) {
		return f, false
	}
	if f.subject, f.name, ok = subject(ws[:v]); !ok {
		return f, false
	}
	if state := states[ws[next].low]; state != "" && next == len(ws)-1 {
		f.attr, f.value, f.shown, f.kind, f.single = "is "+state, ws[next].low, ws[next].raw, "identity_fact", true
		return f, true
	}
	last := ws[v-1]
	if isUpper(last.raw) && !slots[last.stem] { // a name may be many things
		if len(ws) == next || !timely(ws[next:]) || !dated(ws[next]) {
			return f, false
		}
	}
	val, shown, vw := value(ws[next:])
	if val == "" || !telling(vw) || many[last.stem] {
		return f, false
	}
	if len(vw) > 0 && strings.HasSuffix(vw[0].low, "ing") {
		return f, false
	}
	f.attr, f.value, f.shown, f.single = "is", val, shown, true
	f.kind = kindOf(f.subject, vw)
	return f, true
}

// predicate reads "Maria is vegetarian": nothing excludes it but its own denial.
func predicate(ws []word) (f fact, ok bool) {
	v, next := be(ws, 1)
	if v < 1 || v > 3 || next != len(ws)-1 || !isUpper(ws[0].raw) || strings.HasSuffix(ws[next].low, "ing") || temporal(ws[next].low) {
		return f, false
	}
	if f.subject, f.name, ok = subject(ws[:v]); !ok {
		return f, false
	}
	f.attr, f.kind = "is so", "identity_fact"
	f.value, f.shown, _ = value(ws[next:])
	return f, true
}

// dated says whether a word leads to a time: "is on Friday", "is at 9".
func dated(w word) bool {
	return w.low == "on" || w.low == "at" || w.low == "in" || w.low == "due" || temporal(w.low)
}

// inverse reads "Alice is the CTO of Acme" as what it says of Acme: one at a time holds such a post.
func inverse(ws []word) (f fact, ok bool) {
	v, next := be(ws, 1)
	if v < 1 || v > 4 || ws[v].low != "is" || next+2 >= len(ws) {
		return f, false
	}
	for at := next + 1; at < len(ws)-1 && at <= next+2; at++ {
		if ws[at].low != "of" && ws[at].low != "at" || !posts[ws[at-1].low] {
			continue
		}
		_, holder, okS := subject(ws[:v])
		_, _, org := value(ws[at+1:])
		if !okS || len(org) == 0 || !isUpper(ws[0].raw) || !isUpper(org[0].raw) {
			return f, false
		}
		if f.subject, f.name, ok = subject(org); !ok {
			return f, false
		}
		f.attr, f.shown, f.kind, f.single = ws[at-1].stem, holder, "identity_fact", true
		f.value, _, _ = value(ws[:v])
		return f, true
	}
	return f, false
}

// posts are held by one at a time.
var posts = set("ceo cto cfo coo president chair chairman chairwoman mayor captain lead leader head director principal owner")

// states are words of which one holds at a time.
var states = func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"left-handed right-handed", "enabled disabled", "open closed", "married single divorced widowed", "public private",
		"online offline", "approved rejected", "active inactive", "alive dead", "locked unlocked", "mandatory optional", "deprecated supported"} {
		for w := range strings.FieldsSeq(group) {
			m[w] = group
		}
	}
	return m
}()

// numerals are numbers as words.
var numerals = set("no one two three four five six seven eight nine ten eleven twelve")

// hasNumbered reads "Carol has two children", "the server has 16 GB of memory".
func hasNumbered(ws []word) (f fact, ok bool) {
	for i := 1; i+2 < len(ws) && i <= 5; i++ {
		if ws[i].low != "has" || !digit(ws[i+1].low) && !numerals[ws[i+1].low] {
			continue
		}
		if f.subject, f.name, ok = subject(ws[:i]); !ok {
			return f, false
		}
		what, _, _ := value(ws[i+2:])
		if what == "" || strings.Count(what, " ") > 3 {
			return f, false
		}
		f.attr, f.value, f.shown, f.kind, f.single = "has "+what, ws[i+1].low, ws[i+1].raw, "identity_fact", true
		return f, true
	}
	return f, false
}
