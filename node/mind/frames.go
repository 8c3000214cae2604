package mind

import (
	"slices"
	"strings"
)

// A frame is a verb form and the attribute that it states of its subject.
type frame struct {
	words   []string // stems
	attr    string
	kind    string
	single  bool
	denies  bool // states the opposite of attr
	timed   bool // the value must be a time
	number  bool // the value must contain a number
	version bool // the value must be a name and a number
}

// identity is the kind of facts about what somebody or something is.
const identity = "identity_fact"

// verbs lists the frames with the forms of their verbs.
var verbs = []struct {
	frame
	forms string // separated by commas
}{
	{frame{attr: "lives in", kind: identity, single: true}, "lives in,is living in,resides in,moved to,relocated to"},
	{frame{attr: "works at", kind: identity, single: true},
		"works at,works for,is working at,is working for,is employed at,is employed by"},
	{frame{attr: "studies at", kind: identity, single: true}, "studies at"},
	{frame{attr: "born", kind: identity, single: true}, "was born in,was born on,born in,born on"},
	{frame{attr: "located in", kind: identity, single: true}, "is based in,is located in,is headquartered in,sits in"},
	{frame{attr: "spouse", kind: identity, single: true}, "is married to"},
	{frame{attr: "manager", kind: identity, single: true}, "reports to,is managed by"},
	{frame{attr: "led by", kind: identity, single: true}, "is led by,is headed by,is run by"},
	{frame{attr: "owned by", kind: identity, single: true}, "is owned by,belongs to,is maintained by"},
	{frame{attr: "runs on", kind: identity, single: true}, "runs on,is hosted on,is deployed on,is deployed to,is running on,is hosted in"},
	{frame{attr: "written in", kind: "preference", single: true}, "is written in,is implemented in,is built with,is built in,is built on"},
	{frame{attr: "stored in", kind: "preference", single: true}, "is stored in,stores data in,is backed by"},
	{frame{attr: "when", kind: "temporal", single: true, timed: true},
		"is scheduled for,is scheduled on,is scheduled at,is planned for,is set for,is due on,is due by," +
			"is due in,is due,takes place on,takes place in,takes place at,happens on,happens at,meets on,meets at,meets every,launches on,launches in,ships on,ships in," +
			"goes live on,starts on,starts at,starts in,begins on,begins at,is moved to,departs at,arrives at,leaves at,departs on,arrives on,leaves on," +
			"goes out on,goes out at,runs at,resets on,resets at,renews on,renews in,is paid on,is sent on,is delivered on"},
	{frame{attr: "handled by", kind: identity, single: true},
		"is handled by,is operated by,is administered by,is processed by,is provided by,is supplied by,is chaired by"},
	{frame{attr: "runs version", kind: identity, single: true, version: true}, "runs,is running"},
	{frame{attr: "founded", kind: identity, single: true}, "was founded in,was established in"},
	{frame{attr: "hired", kind: identity, single: true, timed: true}, "was hired in,was hired on"},
	{frame{attr: "ends", kind: "temporal", single: true, timed: true}, "ends on,ends at,ends in,expires on,expires in,closes on,closes at"},
	{frame{attr: "opens", kind: "temporal", single: true, timed: true}, "opens on,opens at"},
	{frame{attr: "costs", kind: identity, single: true, number: true}, "costs,is priced at"},
	{frame{attr: "weighs", kind: identity, single: true, number: true}, "weighs"},
	{frame{attr: "limited to", kind: identity, single: true, number: true}, "is limited to,is capped at"},
	{frame{attr: "listens on", kind: identity, single: true, number: true}, "listens on,listens on port,runs on port,is on port"},
	{frame{attr: "allergic to", kind: identity}, "is allergic to"},
	{frame{attr: "likes", kind: "preference"}, "likes,loves,enjoys"},
	{frame{attr: "likes", kind: "preference", denies: true}, "dislikes,hates"},
}

// plainVerbs are verbs that may have many objects at once.
const plainVerbs = "eats drinks speaks knows owns drives smokes plays supports uses wants trusts needs requires"

var frames = func() (out []frame) {
	add := func(f frame, form string) {
		for w := range strings.FieldsSeq(form) {
			f.words = append(f.words, stem(w))
		}
		out = append(out, f)
	}
	for _, v := range verbs {
		for form := range strings.SplitSeq(v.forms, ",") {
			add(v.frame, form)
		}
	}
	for v := range strings.FieldsSeq(plainVerbs) {
		add(frame{attr: v, kind: identity}, v)
	}
	return out
}()

// framesByFirstWord holds indexes in frames by the first stem of each frame.
var framesByFirstWord = func() map[string][]int {
	by := map[string][]int{}
	for j, f := range frames {
		by[f.words[0]] = append(by[f.words[0]], j)
	}
	return by
}()

// verbFrame reads a clause by its first known verb. Of the forms that begin there, the longest one wins.
func verbFrame(ws []word) (about []word, f fact) {
	best, at := -1, -1
	for i := 1; i < len(ws) && i <= 6 && best < 0; i++ {
		for _, j := range framesByFirstWord[ws[i].stem] {
			if matches(ws[i:], frames[j].words) && (best < 0 || len(frames[j].words) > len(frames[best].words)) {
				best, at = j, i
			}
		}
	}
	if best < 0 || past(ws, at, frames[best]) {
		return nil, f
	}
	fr := frames[best]
	v, shown, vw := value(ws[at+len(fr.words):])
	if v == "" || fr.timed && !hasTime(vw) || fr.number && !anyNumber(vw) ||
		fr.version && (len(vw) != 2 || !isUpper(vw[0].raw) || !hasNumber(vw[1].raw)) ||
		fr.single && len(vw) > 4 && !fr.timed {
		return nil, f
	}
	f = fact{attr: fr.attr, value: v, shown: shown, kind: fr.kind, single: fr.single, denied: fr.denies}
	if c := categories[vw[0].lower]; fr.attr == "uses" && len(vw) == 1 && (c == "databases" || c == "cloud_providers") {
		f.attr, f.single = "uses among "+c, true
	}
	f.single = f.single && (f.kind == "temporal" || distinctive(vw))
	return ws[:at], f
}

// past reports whether a verb is about the past: "worked at", "was based in". Births and moves still hold.
func past(ws []word, at int, fr frame) bool {
	w := ws[at].lower
	return !birthAttributes[fr.attr] && !moveVerbs[w] && (pastVerbs[w] || strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed"))
}

var (
	birthAttributes = set("born founded hired")
	moveVerbs       = set("moved relocated")
	pastVerbs       = set("was were had met ran knew ate drank spoke began")
)

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

func anyNumber(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return hasNumber(w.raw) })
}

func stems(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[stem(w)] = true
	}
	return m
}

// singleValued are attributes that have one value, whatever it looks like.
var singleValued = stems(`name birthday email phone number address age height hometown job title role occupation profession manager boss spouse
wife husband partner favorite favourite color colour password deadline budget price salary version capital currency timezone
language database owner lead leader editor browser car employer nationality diet drink dish food`)

// multiValued are attributes that may have several values at once.
var multiValued = stems(`sister brother sibling child son daughter kid friend colleague coworker cousin aunt uncle cat dog pet hobby hobbies
skill interest tool member customer client goal task project meeting thing part reason issue problem plan idea note team member
parent grandparent neighbor neighbour strength weakness stakeholder dependency priority book movie song`)
