package text

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stops are the English words that carry no meaning by themselves.
var stops = func() map[string]struct{} {
	m := make(map[string]struct{})
	for _, w := range strings.Fields(`
		i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
		herself it its itself they them their theirs themselves what which who whom this that these those am is are
		was were be been being have has had having do does did doing would should could ought a an the and but if or
		because as until while of at by for with about against between into through during before after above below
		to from up down in out on off over under again further then once here there when where why how all any both
		each few more most other some such no nor not only own same so than too very can will just
		dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wouldnt couldnt shouldnt cant wont ive youre theyre
		thats whats`) {
		m[w] = struct{}{}
	}
	return m
}()

// A stemmer cuts endings off. It is not safe for concurrent use.
type stemmer struct {
	env   *snowballstem.Env
	known map[string]wordInfo // words met before, folded; nil: none are remembered
}

// A wordInfo holds what is known of a word by itself.
type wordInfo struct {
	word string // folded
	of   uint16 // the languages of which it is a function word
	term string // what it is found by
}

// knownWords bounds the words that are remembered, about 3 MiB: a text repeats its words, and looking one up costs a
// tenth of stemming it.
const knownWords = 1 << 15

// longestPlain is the longest word whose English endings are cut off.
const longestPlain = 40

// read looks a word up as a text has it.
func (s *stemmer) read(raw string) wordInfo {
	var low [longestPlain]byte
	if len(raw) > len(low) {
		return s.newInfo(fold(raw))
	}
	for i := range len(raw) {
		c := raw[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c < 'a' || c > 'z' {
			return s.newInfo(fold(raw))
		}
		low[i] = c
	}
	folded := low[:len(raw)]
	if r, ok := s.known[string(folded)]; ok {
		return r
	}
	r := s.newInfo(string(folded)) // a copy: the remembered stem holds no text in memory
	if len(s.known) >= knownWords {
		clear(s.known)
	}
	if s.known != nil {
		s.known[r.word] = r
	}
	return r
}

func (s *stemmer) newInfo(word string) wordInfo {
	r := wordInfo{word: word, of: functionWords[word], term: word}
	if base, ok := irregular[word]; ok {
		r.term = base
	}
	r.term = s.stem(r.term)
	return r
}

// stem cuts English endings off. It leaves alone what is not a plain lower-case a–z word: names, numbers, other
// scripts.
func (s *stemmer) stem(w string) string {
	if len(w) < 3 || len(w) > longestPlain {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	return s.run(english.Stem, w)
}

// of cuts the endings of another language off.
func (s *stemmer) of(language int, w string) string { return s.run(languages[language].stem, w) }

func (s *stemmer) run(stem func(*snowballstem.Env) bool, w string) string {
	if s.env == nil {
		s.env = snowballstem.NewEnv(w)
	} else {
		s.env.SetCurrent(w)
	}
	stem(s.env)
	return s.env.Current()
}
