package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Claim is a relation that a text states between two names. It is found only from the words between them: a known
// phrase, possibly with articles, adverbs and a copula, makes a claim; any other word prevents it.
type Claim struct {
	Src, Type, Dst string
	Denied         bool // "is not the CEO of"
	Reported       bool // "is said to be", "may"
	Start, End     int  // bytes of the text
}

// ClaimExtractor is the name of this extractor in its claims.
const ClaimExtractor = "heuristic_v1"

const (
	maxBetween     = 150 // bytes between two names
	maxClaims      = 16
	maxOccurrences = 4 // of one name
)

// relatableTypes are the types of names that may have relations.
var relatableTypes = set("person organization place tech project unknown")

// phrases maps the phrases between a source and its target to relations.
var phrases = map[string]string{
	"ceo of": "ceo_of", "chief executive of": "ceo_of", "chief executive officer of": "ceo_of", "cto of": "cto_of", "cfo of": "cfo_of",
	"founder of": "founded", "co-founder of": "founded", "cofounder of": "founded", "co-founded": "founded",
	"cofounded": "founded", "founded": "founded",
	"leads": "leads", "heads": "leads", "runs": "leads", "manages": "leads", "directs": "leads",
	"works at": "works_at", "works for": "works_at", "employed at": "works_at", "employed by": "works_at", "joined": "works_at",
	"born in": "born_in", "was born in": "born_in",
	"headquartered in": "headquartered_in", "quartered in": "headquartered_in", "based in": "headquartered_in",
	"located in": "headquartered_in",
	"married to": "married_to", "acquired": "acquired", "bought": "acquired", "purchased": "acquired", "took over": "acquired",
	"subsidiary of": "subsidiary_of", "owned by": "subsidiary_of", "speaks": "speaks", "fluent in": "speaks",
	"member of": "member_of", "part of": "member_of", "belongs to": "member_of", "reports to": "reports_to",
}

// possessiveRelations maps the words between "Acme's" and a name to a relation, from the name to Acme.
var possessiveRelations = map[string]string{"ceo": "ceo_of", "cto": "cto_of", "cfo": "cfo_of", "founder": "founded",
	"co-founder": "founded", "cofounder": "founded"}

// bareVerbs are the verb forms that follow "does not" or "may".
var bareVerbs = map[string]string{"work at": "works_at", "work for": "works_at", "join": "works_at", "lead": "leads",
	"head": "leads", "run": "leads", "manage": "leads",
	"direct": "leads", "acquire": "acquired", "buy": "acquired", "purchase": "acquired", "take over": "acquired",
	"speak": "speaks", "belong to": "member_of",
	"report to": "reports_to", "found": "founded"}

var (
	negations = set("not no never denied denies denying neither nor isn't aren't wasn't weren't doesn't don't didn't hasn't haven't hadn't won't cannot can't couldn't")
	hedges    = set("may might could allegedly reportedly supposedly said says rumored rumoured according apparently perhaps maybe possibly probably")
	fillers   = set("a an the is are now currently also still just recently has have had been be who which that does do did will would both proudly officially really")
)

// Claims returns the claims of a text about its names, which come from Entities and Link.
func Claims(text string, names []Entity) (out []Claim) {
	text = text[:min(len(text), maxText)]
	at := occurrences(text, names)
	for i := 0; i+1 < len(at) && len(out) < maxClaims; i++ {
		a, b := at[i], at[i+1]
		gap := text[a.end:b.start]
		if a.name == b.name || len(gap) > maxBetween || endsSentence(gap) {
			continue
		}
		c, ok := relation(a, b, gap)
		if !ok || slices.ContainsFunc(out, func(o Claim) bool {
			return o.Src == c.Src && o.Type == c.Type && o.Dst == c.Dst && o.Denied == c.Denied
		}) {
			continue
		}
		c.Start, c.End = a.start, b.end
		c.Reported = c.Reported || hedged(text[:a.start])
		out = append(out, c)
	}
	return out
}

// occurrence is a name at a position in a text.
type occurrence struct {
	name, kind string
	start, end int
}

// occurrences returns the names in the order of their positions; of overlapping names it keeps the longest.
func occurrences(text string, names []Entity) (out []occurrence) {
	low, fold := strings.ToLower(text), strings.ToLower
	if len(low) != len(text) { // lower case changed the length of a letter, so search in the original case
		low, fold = text, func(name string) string { return name }
	}
	for _, e := range names {
		name := fold(e.Name)
		if e.Type != "" && !relatableTypes[e.Type] || possessiveRelations[strings.ToLower(name)] != "" {
			continue // a title is not a name
		}
		for from, n := 0, 0; n < maxOccurrences; n++ {
			i := strings.Index(low[from:], name)
			if i < 0 || name == "" {
				break
			}
			start, end := from+i, from+i+len(name)
			if onWordBoundary(text, start, end) {
				out = append(out, occurrence{e.Name, e.Type, start, end})
			}
			from = end
		}
	}
	slices.SortFunc(out, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	kept := out[:0]
	for _, o := range out {
		if n := len(kept); n > 0 && o.start < kept[n-1].end {
			continue
		}
		kept = append(kept, o)
	}
	return kept
}

// onWordBoundary reports whether a part of a text begins and ends at word boundaries.
func onWordBoundary(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	letter := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return !letter(before) && !letter(after)
}

// endsSentence reports whether a sentence ends between two names.
func endsSentence(gap string) bool {
	return strings.ContainsAny(gap, "!?;\n") || strings.Contains(gap, ". ")
}

func hedged(before string) bool {
	for _, cut := range []string{". ", "! ", "? ", "\n", "; "} {
		before = before[strings.LastIndex(before, cut)+1:]
	}
	return slices.ContainsFunc(betweenWords(before), func(w string) bool { return hedges[w] })
}

func betweenWords(s string) []string {
	s = strings.ReplaceAll(strings.ToLower(s), "’", "'")
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-' })
}

// relation returns the claim that the words between two names make.
func relation(a, b occurrence, gap string) (Claim, bool) {
	c := Claim{Src: a.name, Dst: b.name}
	words := betweenWords(gap)
	owner := len(words) > 0 && words[0] == "'s"
	if owner {
		words = words[1:]
	}
	var said []string
	for _, w := range words {
		switch {
		case negations[w]:
			c.Denied = true
		case hedges[w]:
			c.Reported = true
		case w == "to" && c.Reported && len(said) == 0: // "is said to have"
		case !fillers[w]:
			said = append(said, w)
		}
	}
	phrase := strings.Join(said, " ")
	if owner {
		if c.Type = possessiveRelations[phrase]; c.Type != "" && (b.kind == "" || b.kind == "person" || b.kind == "unknown") {
			c.Src, c.Dst = b.name, a.name
			return c, true
		}
		return c, false
	}
	if c.Type = phrases[phrase]; c.Type == "" && (c.Denied || c.Reported) {
		c.Type = bareVerbs[phrase]
	}
	if n := len(said); c.Type == "" && n > 2 && n <= 6 && said[0] == "works" && said[1] == "as" &&
		(said[n-1] == "at" || said[n-1] == "for") {
		c.Type = "works_at"
	}
	return c, c.Type != "" && isPlausible(c.Type, a.kind, b.kind)
}

// isPlausible reports whether a relation fits the types of its names: a person has no headquarters, and nobody leads
// Python.
func isPlausible(relation, src, dst string) bool {
	switch relation {
	case "headquartered_in", "acquired", "subsidiary_of":
		return src != "person"
	case "leads":
		return dst != "tech" && src != "tech"
	case "works_at", "member_of", "reports_to":
		return src != "place" && src != "tech"
	}
	return true
}
