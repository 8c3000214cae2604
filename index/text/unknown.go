package text

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
)

// A term that no live row has is replaced by what it may stand for: another ending of the word, the longer or shorter
// form of a hash, a word that the same one is a part of, a word that is one or two letters off or longer by an ending,
// or the two words it is made of. What stands for it is in the question's groups. Terms that some row has cost nothing,
// and a second reading that no row has of a word that some row has is left out: it is no other word. The choice is a
// function of the live rows alone.
const (
	maxUnknown    = 8  // terms of a question for which this is done
	maxReplacing  = 8  // terms that one of them is replaced by
	typoShare     = .6 // of its weight a term keeps whose letters differ
	typoLetters   = 4  // a word's least length for one letter to be wrong
	twoWrong      = 8  // and for two: "offsite" is no "office"
	hashLetters   = 6  // of a hash's beginning
	splitLetters  = 4  // of each of two words written as one
	stemLetters   = 3  // of a word without its ending
	endingLetters = 8  // of the longest ending
)

// The kinds of a guess, the safest first.
const (
	otherForm uint8 = iota // an ending of another language, a hash's other length
	derived                // editor, edit
	oneOff
	longer // the word with an ending
	inTwo
	twoOff
	kinds
)

// A guess is terms that an unknown one may stand for; all of them must be known.
type guess struct {
	same  int // letters at the beginning that are the same
	terms []string
}

// widen replaces the search's unknown terms. It reads what it needs at the search's moment.
func (s *search) widen() error {
	if !slices.ContainsFunc(s.terms, func(t queryTerm) bool { return !t.known }) {
		return nil
	}
	s.guess = true
	at := make(map[string]int, len(s.terms))
	for i, t := range s.terms {
		at[t.term] = i
	}
	keep := make([]bool, len(s.terms))
	var unknown []int
	for i, t := range s.terms {
		plain, reading := s.readings[t.term]
		keep[i] = t.known || !reading || !s.terms[at[plain]].known
		if keep[i] && !t.known && len(unknown) < maxUnknown && mayStandFor(t.term) {
			unknown = append(unknown, i)
		}
	}
	type choice struct {
		place  int
		rests  uint8
		chosen []guess
	}
	var choices []choice
	for _, i := range unknown {
		rests, chosen, err := s.standIns(s.terms[i].term, at)
		if err != nil {
			return err
		}
		if len(chosen) > 0 {
			choices = append(choices, choice{i, rests, chosen})
		}
	}
	keep = append(keep, make([]bool, len(s.terms)-len(keep))...)
	for _, c := range choices { // after all are chosen: a replaced term is no guess
		if c.rests == inTwo {
			for _, term := range c.chosen[0].terms {
				keep[at[term]] = true
			}
			keep[c.place] = false
			continue
		}
		if c.rests != otherForm {
			s.terms[c.place].share = typoShare
		}
		s.merge(&s.terms[c.place], c.chosen, at)
	}
	s.leave(keep)
	return nil
}

// leave keeps some of the terms, in order.
func (s *search) leave(keep []bool) {
	var rest []queryTerm
	kept := s.terms[:0]
	for i, t := range s.terms {
		if keep[i] {
			kept = append(kept, t)
		} else {
			rest = append(rest, t)
		}
	}
	copy(s.terms[len(kept):], rest) // forget finds their buffers there
	s.terms = kept
	slices.SortFunc(s.terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
}

// standIns returns what replaces an unknown term: of the safest kind of which a guess is known, the first few; of
// words in two, the most common. A kind is looked for only when the safer ones found nothing: the letters of most
// typos are one off, and what is two off costs ten times as much to find.
func (s *search) standIns(term string, at map[string]int) (rests uint8, chosen []guess, err error) {
	for rests = range kinds {
		guesses, err := s.guesses(rests, term)
		if err != nil {
			return 0, nil, err
		}
		slices.SortFunc(guesses, func(a, b guess) int { return cmp.Or(cmp.Compare(b.same, a.same), slices.Compare(a.terms, b.terms)) })
		guesses = slices.CompactFunc(guesses, func(a, b guess) bool { return slices.Equal(a.terms, b.terms) })
		if chosen, err = s.chooseGuesses(rests, guesses, at); len(chosen) > 0 || err != nil {
			return rests, chosen, err
		}
	}
	return 0, nil, nil
}

// chooseGuesses returns those of a kind's guesses that replace a term.
func (s *search) chooseGuesses(rests uint8, guesses []guess, at map[string]int) (chosen []guess, err error) {
	var most float64
	for batch := range slices.Chunk(guesses, maxReplacing) { // nearly all of them are known: the first batch is enough
		var terms []string
		for _, g := range batch {
			terms = append(terms, g.terms...)
		}
		if err := s.read(terms, at); err != nil {
			return nil, err
		}
		for _, g := range batch {
			common := 1.0
			for _, t := range g.terms {
				common *= float64(s.terms[at[t]].df)
			}
			switch {
			case common == 0:
			case rests == inTwo:
				if common > most {
					most, chosen = common, []guess{g}
				}
			default:
				if chosen = append(chosen, g); len(chosen) == maxReplacing {
					return chosen, nil
				}
			}
		}
	}
	return chosen, nil
}

// read adds terms to the search, without those that it has.
func (s *search) read(terms []string, at map[string]int) error {
	var more []string
	for _, t := range terms {
		if _, ok := at[t]; !ok {
			at[t] = len(s.terms) + len(more)
			more = append(more, t)
		}
	}
	s.index.mu.Lock()
	s.take(more)
	s.index.mu.Unlock()
	return s.collect(len(s.terms) - len(more))
}

// merge makes a term's postings those of the terms that replace it.
func (s *search) merge(t *queryTerm, chosen []guess, at map[string]int) {
	if len(chosen) == 1 {
		o := &s.terms[at[chosen[0].terms[0]]]
		t.df, t.lists = o.df, append(t.lists[:0], o.lists...)
		return
	}
	a := &s.adder
	a.cursors = a.cursors[:0]
	for _, g := range chosen {
		o := &s.terms[at[g.terms[0]]]
		t.df += o.df
		for i := range o.lists {
			o.lists[i].each(func(r run) { a.cursors = append(a.cursors, cursor{run: r}) })
		}
	}
	all := s.together()
	t.df = min(t.df, s.totals.Rows)
	if s.local || len(s.groups.list) == 0 {
		t.df = uint64(len(all.post))
	}
	t.lists = t.lists[:0]
	t.addList(all) // none, when the rows are in groups that were not asked for
}

// together makes one list of the postings that the adder's cursors have: those of one row become one. A cell has its
// frequency, and above that its length.
func (s *search) together() list {
	a := &s.adder
	slices.SortFunc(a.cursors, func(x, y cursor) int { return cmp.Compare(x.span, y.span) })
	s.arena.begin()
	a.eachWindow(func(cursors []cursor, w uint32) {
		end := (w%spanWindows + 1) << windowBits
		for i := range cursors {
			c := &cursors[i]
			for c.at = c.start(end); c.at < len(c.post) && placeOf(c.post[c.at]) < end; c.at++ {
				tf, length := c.counts(c.post[c.at])
				at := c.post[c.at] % windowRows
				a.cells[at] = cell(length)<<sumBits | cell(min(a.cells[at].sum()+uint32(tf), 1<<16-1))
				a.touched[at/64] |= 1 << (at % 64)
				a.words |= 1 << (at / 64)
			}
		}
		a.eachTouched(func(at uint32, c cell) {
			s.arena.add(posting{w<<windowBits | at, uint16(c.sum()), uint16(c >> sumBits)})
		})
	})
	a.forget()
	a.cursors = a.cursors[:0]
	return s.arena.end()
}

// guesses returns what an unknown term may stand for, of one kind.
func (s *search) guesses(rests uint8, term string) (all []guess, err error) {
	add := func(other string) {
		if other != term {
			all = append(all, guess{sameBeginning(term, other), []string{other}})
		}
	}
	if looksLikeHash(term) {
		if rests != otherForm {
			return nil, nil
		}
		for n := hashLetters; n < len(term); n++ {
			add(term[:n])
		}
		return all, s.eachTerm(everyTerm, term, add)
	}
	letters := utf8.RuneCountInString(term)
	switch {
	case rests == otherForm:
		if plain := fold(term); plain != term { // tones, which a text may lack
			add(plain)
			break
		}
		for _, other := range otherStems(term) {
			add(other)
		}
	case rests == derived:
		for _, other := range derivations(term) {
			add(other)
		}
	case rests == oneOff && letters >= typoLetters:
		err = s.eachNear(term, 1, add)
	case rests == longer && letters >= typoLetters:
		err = s.eachTerm(everyTerm, term, func(other string) {
			if withEnding(other[len(term):]) {
				add(other)
			}
		})
	case rests == inTwo:
		all = inTwoWords(term)
	case rests == twoOff && letters >= twoWrong:
		err = s.eachNear(term, 2, add)
	}
	return all, err
}

// mayStandFor says whether others may stand for a term: for a word or a hash, not for a number, a name of code or a
// piece of a script without spaces.
func mayStandFor(term string) bool {
	return looksLikeHash(term) || len(term) <= maxCamelBytes && onlyLetters(term) && !isGram(term)
}

// withEnding says whether what follows a word is an ending of a language that puts several behind each other.
func withEnding(rest string) bool {
	return onlyLetters(rest) && utf8.RuneCountInString(rest) <= endingLetters &&
		slices.ContainsFunc(stackedEndings, func(e string) bool { return strings.HasSuffix(rest, e) })
}

// isGram says whether a term is of a script that is written without spaces.
func isGram(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return classOf(r) != classWord
}

// looksLikeHash says whether a term is hexadecimal, and no word or number alone.
func looksLikeHash(term string) bool {
	digits, letters := 0, 0
	for i := range len(term) {
		switch c := term[i]; {
		case isDigit(c):
			digits++
		case 'a' <= c && c <= 'f':
			letters++
		default:
			return false
		}
	}
	return len(term) >= hashLetters && digits > 0 && letters > 0
}

// after returns a key that lies above all terms with a prefix.
func after(prefix string) []byte {
	b := []byte(prefix)
	b[len(b)-1]++
	return b
}

// otherStems returns the stems that the languages make of a word of an unknown language.
func otherStems(term string) (out []string) {
	var st stemmer
	for i := range latinScripts {
		if stem := fold(st.of(i, term)); stem != term && utf8.RuneCountInString(stem) >= stemLetters {
			out = append(out, stem)
		}
	}
	return out
}

// inTwoWords are the ways to read a term as two words, with or without an s, n or en between them.
func inTwoWords(term string) (out []guess) {
	if !ascii(term) {
		return nil
	}
	var st stemmer
	for i := splitLetters; i+splitLetters <= len(term); i++ {
		for _, link := range [...]string{"", "s", "n", "en"} {
			if left, ok := strings.CutSuffix(term[:i], link); ok && len(left) >= splitLetters {
				out = append(out, guess{i, []string{st.stem(left), st.stem(term[i:])}})
			}
		}
	}
	return out
}

func sameBeginning(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// automata builds what finds terms so many letters off; two letters that changed places are one.
var automata = [3]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	1: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	}),
	2: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	}),
}

var everyTerm = &vellum.AlwaysMatch{}
