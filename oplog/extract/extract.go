package extract

import (
	"slices"
	"strings"
)

// Entities returns the names in a text, in order, each once.
func Entities(text string) []Entity {
	if len(text) > maxText {
		text = text[:maxText]
	}
	f := finder{text: text, toks: tokens(text), seen: map[string]bool{}}
	f.readQuoted()
	for i := 0; i < len(f.toks) && len(f.found) < maxEntities; {
		i = f.readWord(i)
	}
	return f.found
}

type finder struct {
	text  string
	toks  []token
	found []Entity
	seen  map[string]bool

	inside map[string]bool // capitalised words inside sentences; computed when first needed
}

func (f *finder) add(name, kind string) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxNameLen || f.seen[name] || len(f.found) >= maxEntities {
		return
	}
	f.seen[name] = true
	f.found = append(f.found, Entity{Name: name, Type: kind})
}

// readWord handles the word at i and returns the index of the next one.
func (f *finder) readWord(i int) int {
	t := f.toks[i]
	if t.lower {
		if toolPrefilter.mayContain(t.text) && tools[t.text] && !ambiguousTools[t.text] {
			f.add(t.text, "tech")
		}
		return i + 1
	}
	if name, next, ok := f.readDate(i); ok {
		f.add(name, "date")
		return next
	}
	low := strings.ToLower(t.text)
	switch {
	case strings.HasPrefix(t.text, "@") && alnum(t.text) >= 2, strings.HasPrefix(t.text, "#") && letters(t.text) >= 2,
		strings.Contains(t.text, "@") && strings.Contains(t.text, ".") && !strings.HasPrefix(t.text, "@"):
		f.add(t.text, "handle")
	case tools[low]:
		f.add(t.text, "tech")
	case identifier(t.text) && !capitalRun(t.text):
		f.add(t.text, "code")
	case f.isName(i):
		return f.readRun(i)
	}
	return i + 1
}

// capitalRun reports whether a word is a name joined by dashes or slashes, like O'Brien-Smith or R&D.
func capitalRun(w string) bool {
	for p := range strings.FieldsFuncSeq(w, func(r rune) bool { return strings.ContainsRune("-'’&./", r) }) {
		if !isCapitalised(p) {
			return false
		}
	}
	return !strings.ContainsAny(w, "_/") && !innerCapital(w)
}

func innerCapital(w string) bool {
	for p := range strings.FieldsFuncSeq(w, func(r rune) bool { return strings.ContainsRune("-'’&.", r) }) {
		if !isAcronym(p) && len(p) > 1 && strings.ToLower(p[1:]) != p[1:] && !strings.HasPrefix(p, "Mc") && !strings.HasPrefix(p, "Mac") {
			return true
		}
	}
	return false
}

// isName reports whether a word can be part of a name.
func (f *finder) isName(i int) bool {
	t := f.toks[i]
	low := strings.ToLower(t.text)
	return isCapitalised(t.text) && !months[low] && !weekdays[low] && (letters(t.text) > 0)
}

// readRun reads a run of capitalised words that begins at i.
func (f *finder) readRun(i int) int {
	end := i + 1
	for end < len(f.toks) && end-i < maxRun && f.toks[end].joined && !f.toks[end].sentence && !f.toks[end-1].possessive &&
		(f.isName(end) || isDigits(f.toks[end].text) && projects[strings.ToLower(f.toks[i].text)]) {
		end++
	}
	words := f.toks[i:end]
	for len(words) > 0 && isFunctionWord(strings.ToLower(words[0].text)) {
		words = words[1:]
	}
	for len(words) > 1 && isFunctionWord(strings.ToLower(words[len(words)-1].text)) && len(words[len(words)-1].text) > 1 {
		words = words[:len(words)-1]
	}
	begins := len(words) > 0 && words[0].sentence
	if len(words) > 1 && begins && isLeadingWord(strings.ToLower(words[0].text)) {
		words = words[1:]
	}
	if len(words) == 0 || len(words) == 1 && f.isCommon(words[0], begins, end) {
		return end
	}
	names := make([]string, len(words))
	for j, w := range words {
		names[j] = w.text
	}
	name := strings.Join(names, " ")
	if alnum(name) < 2 {
		return end
	}
	f.add(name, f.kind(names, i))
	return end
}

// isLeadingWord reports whether a word before a name at the beginning of a sentence is not part of the name.
func isLeadingWord(low string) bool {
	return (starters[low] && !nameAdjectives[low] || imperatives[low]) && !projects[low] || foreignFunctionWords[low] && !nameParticles[low] || germanArticles[low]
}

// isFunctionWord reports whether a word in small letters is a function word, or one with a verb behind it: you're,
// they've.
func isFunctionWord(low string) bool {
	if functionWords[low] {
		return true
	}
	i := strings.IndexAny(low, "'’")
	return i > 0 && (functionWords[low[:i]] || strings.HasSuffix(low, "n't") || strings.HasSuffix(low, "n’t"))
}

// isCommon reports whether a lone capitalised word is probably not a name: it only begins a sentence, follows such a
// word or labels a number. next is the index of the next word.
func (f *finder) isCommon(t token, begins bool, next int) bool {
	low := strings.ToLower(t.text)
	after := "" // the next word, if only a blank separates the two
	if next < len(f.toks) && f.toks[next].joined && !f.toks[next].sentence && !t.possessive {
		after, _, _ = strings.Cut(strings.ToLower(f.toks[next].text), "'")
	}
	switch {
	case !begins:
		return isOrdinaryWord(low) && isDigits(after)
	case isAcronym(t.text) || places[low]:
		return false
	case starters[low] || imperatives[low] || foreignFunctionWords[low]:
		return true
	case f.isInside(t.text):
		return false
	case !t.sentence:
		return isOrdinaryWord(low)
	}
	return isOrdinaryWord(low) || objectWords[after] || hasVerbEnding(low, "ed") && afterPast[after] ||
		pluralVerbs[after] && len(low) > 3 && strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") && !strings.HasSuffix(low, "us")
}

// isInside reports whether the text also has this capitalised word, alone, inside a sentence.
func (f *finder) isInside(word string) bool {
	if f.inside == nil {
		f.inside = map[string]bool{}
		for i, t := range f.toks {
			if i > 0 && t.joined && !t.sentence && !t.lower && f.toks[i-1].lower && isCapitalised(t.text) &&
				(i+1 == len(f.toks) || !f.toks[i+1].joined || !isCapitalised(f.toks[i+1].text)) {
				f.inside[t.text] = true
			}
		}
	}
	return f.inside[word]
}

func (f *finder) kind(names []string, i int) string {
	first, last := strings.ToLower(names[0]), strings.ToLower(names[len(names)-1])
	whole := strings.ToLower(strings.Join(names, ""))
	switch {
	case tools[first] && len(names) == 1:
		return "tech"
	case projects[first]:
		return "project"
	case organisations[last]:
		return "organization"
	case places[first] && len(names) == 1, places[whole], placeWords[last], places[last] && len(names) == 2:
		return "place"
	case len(names) == 1 && isAcronym(names[0]):
		return "tech"
	case f.followsPlaceWord(i):
		return "place"
	case len(names) >= 2 && len(names) <= 3:
		return "person"
	}
	return "unknown"
}

// followsPlaceWord reports whether the words before i say that a person is, lives or goes there.
func (f *finder) followsPlaceWord(i int) bool {
	if i >= 1 && f.toks[i-1].text == "in" {
		return true
	}
	return i >= 2 && placePrepositions[strings.ToLower(f.toks[i-1].text)] && placeVerbs[strings.ToLower(f.toks[i-2].text)]
}

// readQuoted reads short texts between double quotes or backticks.
func (f *finder) readQuoted() {
	for _, q := range [][2]string{{`"`, `"`}, {"“", "”"}, {"`", "`"}} {
		rest := f.text
		for range maxEntities {
			_, after, ok := strings.Cut(rest, q[0])
			if !ok {
				break
			}
			inside, next, ok := strings.Cut(after, q[1])
			if !ok {
				break
			}
			rest = next
			if n := len(strings.Fields(inside)); n >= 1 && n <= 6 && alnum(inside) >= 2 && len(inside) <= 64 &&
				!strings.ContainsAny(inside, "\n") {
				f.add(strings.Trim(inside, " .,;:!?"), "term")
			}
		}
	}
}

// Link adds the known entities that occur in a text, in any case. If an entity was found in a case other than the
// only known one, Link replaces it with the known one. known returns the names of a folded form; Link calls it with
// runs of up to four words. It is nil if no names are known.
func Link(text string, found []Entity, known func(folded string) []string) []Entity {
	if known == nil {
		return found
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	toks := tokens(text)
	have := make(map[string]bool, len(found))
	written := found
	found = make([]Entity, 0, len(written))
	for _, e := range written {
		if same := known(strings.ToLower(e.Name)); len(same) == 1 && e.Type != "code" { // the case of code matters
			e.Name = same[0]
		}
		if !have[e.Name] {
			have[e.Name] = true
			found = append(found, e)
		}
	}
	folded, stops := joinFolded(toks)
	asked := make(map[string]bool, len(toks))
	const maxAsked = 4096
	for i, begin := 0, 0; i < len(toks); i++ {
		for j := i; j < len(toks) && j < i+4; j++ {
			run := folded[begin:stops[j]]
			if j == i && (functionWords[run] || starters[run] || months[run] || weekdays[run] || alnum(run) < 3) || asked[run] {
				continue
			}
			if asked[run] = true; len(asked) > maxAsked || len(found) >= maxEntities {
				return found
			}
			for _, name := range known(run) {
				if !have[name] && len(found) < maxEntities {
					have[name] = true
					found = append(found, Entity{Name: name})
				}
			}
		}
		begin = stops[i] + 1
	}
	return slices.Clip(found)
}

// Names reports whether a text contains a name, as whole words, in any case.
func Names(text, name string) bool {
	folded := strings.ToLower(name)
	low := strings.ToLower(text[:min(len(text), maxText)])
	for from := 0; folded != ""; {
		i := strings.Index(low[from:], folded)
		if i < 0 {
			return false
		}
		if onWordBoundary(low, from+i, from+i+len(folded)) {
			return true
		}
		from += i + len(folded)
	}
	return false
}

// joinFolded joins the folded words with blanks, so that every run of words is a substring, and returns the end of
// each word.
func joinFolded(toks []token) (folded string, stops []int) {
	var b strings.Builder
	stops = make([]int, len(toks))
	for i, t := range toks {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(t.text))
		stops[i] = b.Len()
	}
	return b.String(), stops
}
