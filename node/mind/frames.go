package mind

import "strings"

// A frame is a verb with what it says of its subject.
type frame struct {
	words   []string // stems
	attr    string
	kind    string
	single  bool
	denies  bool // it says the contrary of attr
	timed   bool // the value must be a time
	number  bool // or hold a number
	version bool // or be a name with a number
}

// frames are tried in order, the longer first.
var frames = func() (out []frame) {
	add := func(attr, kind string, single bool, mod func(*frame), phrases ...string) {
		for _, p := range phrases {
			f := frame{attr: attr, kind: kind, single: single}
			for w := range strings.FieldsSeq(p) {
				f.words = append(f.words, stem(w))
			}
			if mod != nil {
				mod(&f)
			}
			out = append(out, f)
		}
	}
	timed := func(f *frame) { f.timed = true }
	number := func(f *frame) { f.number = true }
	id := "identity_fact"
	add("lives in", id, true, nil, "lives in", "is living in", "resides in", "moved to", "relocated to")
	add("works at", id, true, nil, "works at", "works for", "is working at", "is working for", "is employed at", "is employed by")
	add("studies at", id, true, nil, "studies at")
	add("born", id, true, nil, "was born in", "was born on", "born in", "born on")
	add("located in", id, true, nil, "is based in", "is located in", "is headquartered in", "sits in")
	add("spouse", id, true, nil, "is married to")
	add("manager", id, true, nil, "reports to", "is managed by")
	add("led by", id, true, nil, "is led by", "is headed by", "is run by")
	add("owned by", id, true, nil, "is owned by", "belongs to", "is maintained by")
	add("runs on", id, true, nil, "runs on", "is hosted on", "is deployed on", "is deployed to", "is running on", "is hosted in")
	add("written in", "preference", true, nil, "is written in", "is implemented in", "is built with", "is built in", "is built on")
	add("stored in", "preference", true, nil, "is stored in", "stores data in", "is backed by")
	add("when", "temporal", true, timed, "is scheduled for", "is scheduled on", "is scheduled at", "is planned for", "is set for", "is due on", "is due by",
		"is due in", "is due", "takes place on", "takes place in", "takes place at", "happens on", "happens at", "meets on", "meets at", "meets every", "launches on",
		"launches in", "ships on", "ships in", "goes live on", "starts on", "starts at", "starts in", "begins on", "begins at", "is moved to", "departs at", "arrives at", "leaves at", "departs on", "arrives on", "leaves on")
	add("when", "temporal", true, timed, "goes out on", "goes out at", "runs at", "resets on", "resets at", "renews on", "renews in", "is paid on", "is sent on", "is delivered on")
	add("handled by", id, true, nil, "is handled by", "is operated by", "is administered by", "is processed by", "is provided by", "is supplied by", "is chaired by")
	add("runs version", id, true, func(f *frame) { f.version = true }, "runs", "is running")
	add("founded", id, true, nil, "was founded in", "was established in")
	add("hired", id, true, timed, "was hired in", "was hired on")
	add("ends", "temporal", true, timed, "ends on", "ends at", "ends in", "expires on", "expires in", "closes on", "closes at")
	add("opens", "temporal", true, timed, "opens on", "opens at")
	add("costs", id, true, number, "costs", "is priced at")
	add("weighs", id, true, number, "weighs")
	add("limited to", id, true, number, "is limited to", "is capped at")
	add("listens on", id, true, number, "listens on", "listens on port", "runs on port")
	add("allergic to", id, false, nil, "is allergic to")
	add("likes", "preference", false, nil, "likes", "loves", "enjoys")
	add("likes", "preference", false, func(f *frame) { f.denies = true }, "dislikes", "hates")
	for _, v := range []string{"eats", "drinks", "speaks", "knows", "owns", "drives", "smokes", "plays", "supports", "uses", "wants", "trusts", "needs", "requires"} {
		add(v, id, false, nil, v)
	}
	return out
}()

// verbal reads a clause by its verb.
func verbal(ws []word) (f fact, ok bool) {
	if g, ok := usesFor(ws); ok {
		return g, true
	}
	if g, ok := prefers(ws); ok {
		return g, true
	}
	if g, ok := hasNumbered(ws); ok {
		return g, true
	}
	if g, ok := aged(ws); ok {
		return g, true
	}
	best, at := -1, -1
	for i := 1; i < len(ws) && i <= 6; i++ {
		for j := range frames {
			if matches(ws[i:], frames[j].words) && (best < 0 || i == at && len(frames[j].words) > len(frames[best].words)) {
				best, at = j, i
			}
		}
		if best >= 0 {
			break
		}
	}
	if best < 0 || past(ws, at, frames[best]) {
		return f, false
	}
	fr := frames[best]
	if f.subject, f.name, ok = subject(ws[:at]); !ok {
		return f, false
	}
	v, shown, vw := value(ws[at+len(fr.words):])
	if v == "" || fr.timed && !timely(vw) || fr.number && !numbered(vw) || fr.version && (len(vw) != 2 || !isUpper(vw[0].raw) || !hasNumber(vw[1].raw)) {
		return f, false
	}
	if fr.single && len(vw) > 4 && !fr.timed {
		return f, false
	}
	f.attr, f.value, f.shown, f.kind, f.single, f.denied = fr.attr, v, shown, fr.kind, fr.single, fr.denies
	if c := categories[vw[0].low]; fr.attr == "uses" && len(vw) == 1 && (c == "databases" || c == "cloud_providers") {
		f.attr, f.single = "uses among "+c, true
	}
	if f.single && f.kind != "temporal" && !telling(vw) {
		f.single = false
	}
	return f, true
}

// past says whether a verb tells of what was: "worked at", "was based in". Births and moves tell of now.
func past(ws []word, at int, fr frame) bool {
	if fr.attr == "born" || fr.attr == "founded" || fr.attr == "hired" {
		return false
	}
	w := ws[at].low
	switch w {
	case "was", "were", "had", "met", "ran", "knew", "ate", "drank", "spoke", "began":
		return true
	case "moved", "relocated":
		return false
	}
	return strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed")
}

func matches(ws []word, stems []string) bool {
	if len(ws) < len(stems) {
		return false
	}
	for i, s := range stems {
		if ws[i].stem != s {
			return false
		}
	}
	return true
}

func numbered(ws []word) bool {
	for _, w := range ws {
		if hasNumber(w.raw) {
			return true
		}
	}
	return false
}

// usesFor reads "we use Postgres for billing": for one purpose one thing is used.
func usesFor(ws []word) (f fact, ok bool) {
	for i := 1; i < len(ws)-3 && i <= 5; i++ {
		if ws[i].stem != stem("uses") || ws[i].low == "used" {
			continue
		}
		for j := i + 2; j < len(ws)-1 && j <= i+4; j++ {
			if ws[j].low != "for" && ws[j].low != "as" {
				continue
			}
			if f.subject, f.name, ok = subject(ws[:i]); !ok {
				return f, false
			}
			purpose, _, pw := value(ws[j+1:])
			v, shown, vw := value(ws[i+1 : j])
			if purpose == "" || v == "" || len(pw) > 4 || !telling(vw) {
				return f, false
			}
			f.attr, f.value, f.shown, f.single, f.kind = "uses for "+purpose, v, shown, true, kindOf("", vw)
			return f, true
		}
	}
	return f, false
}

// prefers reads "Alice prefers tea over coffee", "prefers Vim for Go", "prefers Postgres". Only what is preferred for the same
// end, or within one category, excludes another preference.
func prefers(ws []word) (f fact, ok bool) {
	at := -1
	for i := 1; i < len(ws) && i <= 5 && at < 0; i++ {
		if ws[i].low == "prefers" || ws[i].low == "prefer" {
			at = i
		}
	}
	if at < 0 {
		return f, false
	}
	if f.subject, f.name, ok = subject(ws[:at]); !ok {
		return f, false
	}
	rest := ws[at+1:]
	cut, over := len(rest), false
	for i, w := range rest {
		if over = i > 0 && (w.low == "over" || w.low == "to" || w.low == "than"); over || i > 0 && (w.low == "for" || w.low == "in" || w.low == "on" || w.low == "at" || w.low == "when") {
			cut = i
			break
		}
	}
	v, shown, vw := value(rest[:cut])
	if v == "" {
		return f, false
	}
	f.attr, f.value, f.shown, f.kind = "prefers", v, shown, "preference"
	if cut < len(rest) {
		if other, _, _ := value(rest[cut+1:]); other != "" {
			f.single = true
			if over {
				f.attr = "prefers among " + min(v, other) + " and " + max(v, other)
			} else {
				f.attr = "prefers for " + other
			}
		}
	} else if len(vw) == 1 && categories[vw[0].low] != "" {
		f.attr, f.single = "prefers in "+categories[vw[0].low], true
	}
	return f, true
}

// aged reads "Alice is 34 years old".
func aged(ws []word) (f fact, ok bool) {
	for i := 1; i+3 < len(ws) && i <= 5; i++ {
		if ws[i].low == "is" && digit(ws[i+1].low) && ws[i+2].stem == "year" && ws[i+3].low == "old" {
			if f.subject, f.name, ok = subject(ws[:i]); !ok {
				return f, false
			}
			f.attr, f.value, f.shown, f.kind, f.single = "age", ws[i+1].low, ws[i+1].raw, "identity_fact", true
			return f, true
		}
	}
	return f, false
}

func stems(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[stem(w)] = true
	}
	return m
}

// slots are attributes that have one value whatever the value looks like.
var slots = stems(`name birthday email phone number address age height hometown job title role occupation profession manager boss spouse
wife husband partner favorite favourite color colour password deadline budget price salary version capital currency timezone
language database owner lead leader editor browser car employer nationality diet drink dish food`)

// many are attributes that may have several values at once.
var many = stems(`sister brother sibling child son daughter kid friend colleague coworker cousin aunt uncle cat dog pet hobby hobbies
skill interest tool member customer client goal task project meeting thing part reason issue problem plan idea note team member
parent grandparent neighbor neighbour strength weakness stakeholder dependency priority book movie song`)
