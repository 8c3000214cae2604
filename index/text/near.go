package text

import (
	"strings"
	"unicode/utf8"

	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// eachNear calls add with the terms at exactly this edit distance that begin with the same letter, or with the first
// two letters in either order. Few typos are in the first letter, and many words differ in it alone.
func (s *search) eachNear(term string, edits uint8, add func(string)) error {
	builder, err := automata[edits]()
	if err != nil {
		return err
	}
	dfa, err := builder.BuildDfa(term, edits)
	if err != nil {
		return err
	}
	check := func(other string) {
		if ok, d := dfa.MatchAndDistance(other); ok && d == edits && onlyLetters(other) {
			add(other)
		}
	}
	_, n := utf8.DecodeRuneInString(term)
	_, m := utf8.DecodeRuneInString(term[n:])
	for _, start := range [...]string{term[:n], term[n:n+m] + term[:n]} {
		if err := s.eachTerm(dfa, start, check); err != nil {
			return err
		}
	}
	return nil
}

// eachTerm calls f with the terms of every segment and block that begin with start and that an automaton matches.
// Some of them are terms of dead rows only.
func (s *search) eachTerm(match segment.Automaton, start string, f func(string)) (err error) {
	defer recoverCorrupt(&err)
	for _, terms := range s.tail {
		for i := range terms {
			if t := terms[i].term; strings.HasPrefix(t, start) && accepts(match, t) {
				f(t)
			}
		}
	}
	for n := range s.dicts {
		dict, err := s.dict(n)
		if err != nil {
			return err
		}
		it := iterateTerms(dict, match, []byte(start), prefixEnd(start))
		var e *index.DictEntry
		for e, err = it.Next(); e != nil && err == nil; e, err = it.Next() {
			f(e.Term)
		}
		if err != nil {
			return corrupt(err)
		}
	}
	return nil
}

// countless is a dictionary that hands over terms without reading how many postings each has.
type countless interface {
	AutomatonIteratorOmitCount(a segment.Automaton, from, to []byte) segment.DictionaryIterator
}

// iterateTerms iterates over the terms of a dictionary, without their numbers of postings if the format allows that.
func iterateTerms(d segment.TermDictionary, match segment.Automaton, from, to []byte) segment.DictionaryIterator {
	if c, ok := d.(countless); ok {
		return c.AutomatonIteratorOmitCount(match, from, to)
	}
	return d.AutomatonIterator(match, from, to)
}

func accepts(a segment.Automaton, term string) bool {
	state := a.Start()
	for i := range len(term) {
		if !a.CanMatch(state) {
			return false
		}
		state = a.Accept(state, term[i])
	}
	return a.IsMatch(state)
}
