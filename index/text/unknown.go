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

// A term that no live row has is replaced by substitutes: another form of the word, the longer or shorter form of a
// hash, a word of the same root, a word within one or two edits or with an ending appended, or the two words that it
// is written together from. Substitutes are terms of the question's groups. Terms that some row has cost nothing. A
// second reading that no row has is dropped when some row has the word itself. The choice is a function of the live
// rows alone.
const (
	maxUnknown      = 8  // terms of a question that are replaced, at most
	maxSubstitutes  = 8  // for one term
	substituteShare = .6 // share of its weight that a term keeps when its substitutes are other words
	oneEditLetters  = 4  // least length of a word that may be one edit off
	twoEditLetters  = 8  // and two edits: "offsite" does not stand for "office"
	hashLetters     = 6  // least length of a hash's beginning
	splitLetters    = 4  // of each of two words written as one
	stemLetters     = 3  // of a word without its ending
	endingLetters   = 8  // of the longest ending
)

// The kinds of substitutes, the safest first.
const (
	otherForm uint8 = iota // an ending of another language, a hash's other length
	derived                // edit for editor
	oneEdit                // a letter more, less, changed, or swapped with the next
	suffixed               // the word with an ending
	twoWords               // the two words that it is written together from
	twoEdits
	substituteKinds
)

// A substitute is a term that replaces an unknown one, or two terms that replace it together. It is used only if some
// row has all of them.
type substitute struct {
	prefix int // bytes at the beginning that both share
	terms  []string
}

// replaceUnknown replaces the search's unknown terms. It reads what it needs at the search's moment.
func (s *search) replaceUnknown() error {
	if !slices.ContainsFunc(s.terms, func(t queryTerm) bool { return !t.known }) {
		return nil
	}
	s.substituting = true
	at := make(map[string]int, len(s.terms))
	for i, t := range s.terms {
		at[t.term] = i
	}
	keep := make([]bool, len(s.terms))
	var unknown []int
	for i, t := range s.terms {
		plain, reading := s.readings[t.term]
		keep[i] = t.known || !reading || !s.terms[at[plain]].known
		if keep[i] && !t.known && len(unknown) < maxUnknown && replaceable(t.term) {
			unknown = append(unknown, i)
		}
	}
	type choice struct {
		place  int
		kind   uint8
		chosen []substitute
	}
	var choices []choice
	for _, i := range unknown {
		kind, chosen, err := s.substitutes(s.terms[i].term, at)
		if err != nil {
			return err
		}
		if len(chosen) > 0 {
			choices = append(choices, choice{i, kind, chosen})
		}
	}
	keep = append(keep, make([]bool, len(s.terms)-len(keep))...)
	for _, c := range choices { // after all are chosen: a replaced term does not stand for another
		if c.kind == twoWords {
			for _, term := range c.chosen[0].terms {
				keep[at[term]] = true
			}
			keep[c.place] = false
			continue
		}
		if c.kind != otherForm {
			s.terms[c.place].share = substituteShare
		}
		s.mergePostings(&s.terms[c.place], c.chosen, at)
	}
	s.retainTerms(keep)
	return nil
}

// retainTerms keeps some of the terms, in order.
func (s *search) retainTerms(keep []bool) {
	var dropped []queryTerm
	kept := s.terms[:0]
	for i, t := range s.terms {
		if keep[i] {
			kept = append(kept, t)
		} else {
			dropped = append(dropped, t)
		}
	}
	copy(s.terms[len(kept):], dropped) // forget finds their buffers there
	s.terms = kept
	slices.SortFunc(s.terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
}

// substitutes returns the terms that replace an unknown one: those of the safest kind of which some are known, the
// closest first, or the most common pair of words. A kind is tried only when the safer ones found nothing: most typos
// are one edit, and words two edits off cost ten times as much to find.
func (s *search) substitutes(term string, at map[string]int) (kind uint8, chosen []substitute, err error) {
	for kind = range substituteKinds {
		found, err := s.candidates(kind, term)
		if err != nil {
			return 0, nil, err
		}
		slices.SortFunc(found, func(a, b substitute) int {
			return cmp.Or(cmp.Compare(b.prefix, a.prefix), slices.Compare(a.terms, b.terms))
		})
		found = slices.CompactFunc(found, func(a, b substitute) bool { return slices.Equal(a.terms, b.terms) })
		if chosen, err = s.chooseSubstitutes(kind, found, at); len(chosen) > 0 || err != nil {
			return kind, chosen, err
		}
	}
	return 0, nil, nil
}

// chooseSubstitutes returns the candidates of a kind that replace a term: known ones only.
func (s *search) chooseSubstitutes(kind uint8, found []substitute, at map[string]int) (chosen []substitute, err error) {
	var mostCommon float64
	for batch := range slices.Chunk(found, maxSubstitutes) { // nearly all of them are known: the first batch is enough
		var terms []string
		for _, g := range batch {
			terms = append(terms, g.terms...)
		}
		if err := s.readTerms(terms, at); err != nil {
			return nil, err
		}
		for _, g := range batch {
			common := 1.0
			for _, t := range g.terms {
				common *= float64(s.terms[at[t]].df)
			}
			switch {
			case common == 0:
			case kind == twoWords:
				if common > mostCommon {
					mostCommon, chosen = common, []substitute{g}
				}
			default:
				if chosen = append(chosen, g); len(chosen) == maxSubstitutes {
					return chosen, nil
				}
			}
		}
	}
	return chosen, nil
}

// readTerms adds terms to the search, without those that it has.
func (s *search) readTerms(terms []string, at map[string]int) error {
	var missing []string
	for _, t := range terms {
		if _, ok := at[t]; !ok {
			at[t] = len(s.terms) + len(missing)
			missing = append(missing, t)
		}
	}
	s.index.mu.Lock()
	s.appendTerms(missing)
	s.index.mu.Unlock()
	return s.collect(len(s.terms) - len(missing))
}

// mergePostings adds the postings of a term's substitutes to the term.
func (s *search) mergePostings(t *queryTerm, chosen []substitute, at map[string]int) {
	if len(chosen) == 1 {
		o := &s.terms[at[chosen[0].terms[0]]]
		t.df, t.lists = o.df, append(t.lists[:0], o.lists...)
		return
	}
	a := &s.acc
	a.cursors = a.cursors[:0]
	for _, g := range chosen {
		o := &s.terms[at[g.terms[0]]]
		t.df += o.df
		for i := range o.lists {
			o.lists[i].each(func(r run) { a.cursors = append(a.cursors, cursor{run: r}) })
		}
	}
	all := s.mergeCursors()
	t.df = min(t.df, s.totals.Rows)
	if s.local || len(s.groups.list) == 0 {
		t.df = uint64(len(all.post))
	}
	t.lists = t.lists[:0]
	t.addList(all) // none, when the rows are in groups that were not requested
}

// mergeCursors merges the accumulator's cursors into one list. The postings of a row become one: the low bits of its
// cell hold the sum of the frequencies, the bits above them the length.
func (s *search) mergeCursors() list {
	a := &s.acc
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

// candidates returns the substitutes of one kind for an unknown term.
func (s *search) candidates(kind uint8, term string) (all []substitute, err error) {
	add := func(other string) {
		if other != term {
			all = append(all, substitute{commonPrefix(term, other), []string{other}})
		}
	}
	if looksLikeHash(term) {
		if kind != otherForm {
			return nil, nil
		}
		for n := hashLetters; n < len(term); n++ {
			add(term[:n])
		}
		return all, s.eachTerm(everyTerm, term, add)
	}
	letters := utf8.RuneCountInString(term)
	switch {
	case kind == otherForm:
		if plain := fold(term); plain != term { // tones, which a text may lack
			add(plain)
			break
		}
		for _, other := range otherStems(term) {
			add(other)
		}
	case kind == derived:
		for _, other := range derivations(term) {
			add(other)
		}
	case kind == oneEdit && letters >= oneEditLetters:
		err = s.eachNear(term, 1, add)
	case kind == suffixed && letters >= oneEditLetters:
		err = s.eachTerm(everyTerm, term, func(other string) {
			if isEnding(other[len(term):]) {
				add(other)
			}
		})
	case kind == twoWords:
		all = splitInTwo(term)
	case kind == twoEdits && letters >= twoEditLetters:
		err = s.eachNear(term, 2, add)
	}
	return all, err
}

// replaceable reports whether a term may have substitutes: words and hashes may; numbers, names in code, pieces of a
// script without spaces and light words may not: "like" is not a misspelt "live".
func replaceable(term string) bool {
	return looksLikeHash(term) || !light[term] && len(term) <= maxCamelBytes && onlyLetters(term) && !isGram(term)
}

// isEnding reports whether rest, which follows a word, is an ending of a language that appends several to a word.
func isEnding(rest string) bool {
	return onlyLetters(rest) && utf8.RuneCountInString(rest) <= endingLetters &&
		slices.ContainsFunc(stackedEndings, func(e string) bool { return strings.HasSuffix(rest, e) })
}

// isGram reports whether a term is of a script that is written without spaces.
func isGram(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return classOf(r) != classWord
}

// looksLikeHash reports whether a term is hexadecimal, and no word or number alone.
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

// prefixEnd returns a key above all terms with a prefix.
func prefixEnd(prefix string) []byte {
	b := []byte(prefix)
	b[len(b)-1]++
	return b
}

// otherStems returns the stems of a word in each language of the Latin script.
func otherStems(term string) (out []string) {
	var st stemmer
	for i := range latinScripts {
		if stem := fold(st.of(i, term)); stem != term && utf8.RuneCountInString(stem) >= stemLetters {
			out = append(out, stem)
		}
	}
	return out
}

// splitInTwo returns the ways to read a term as two words, with or without an s, n or en between them.
func splitInTwo(term string) (out []substitute) {
	if !ascii(term) {
		return nil
	}
	var st stemmer
	for i := splitLetters; i+splitLetters <= len(term); i++ {
		for _, link := range [...]string{"", "s", "n", "en"} {
			if left, ok := strings.CutSuffix(term[:i], link); ok && len(left) >= splitLetters {
				out = append(out, substitute{i, []string{st.stem(left), st.stem(term[i:])}})
			}
		}
	}
	return out
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// automata find terms within one or two edits. Swapping two letters counts as one edit.
var automata = [3]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	1: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	}),
	2: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	}),
}

var everyTerm = &vellum.AlwaysMatch{}
