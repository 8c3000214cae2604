package text

import (
	"maps"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stops maps the English words without a meaning of their own to their kind: forms of one word, or words that a
// question of nothing else need not tell apart.
var stops = func() map[string]uint8 {
	m := make(map[string]uint8)
	for kind, words := range [...]string{
		"i me my myself ive", "we our ours ourselves", "you your yours yourself yourselves youre", "he him his himself",
		"she her hers herself",
		"it its itself", "they them their theirs themselves theyre", "what whats", "which", "who whom", "this these", "that those thats",
		"am is are was were be been being isnt arent wasnt werent", "have has had having hasnt havent hadnt",
		"do does did doing dont doesnt didnt",
		"would should could ought can will just wouldnt couldnt shouldnt cant wont", "a an the", "and", "but", "if", "or",
		"because", "as", "until while",
		"of", "at", "by", "for", "with", "about", "against", "between", "into", "through", "during", "before", "after",
		"above over", "below under", "to",
		"from", "up", "down", "in", "out", "on", "off", "again", "further then", "once", "here", "there", "when", "where", "why", "how",
		"all both each any", "few some such other", "more most very too", "no nor not", "only own", "same so", "than",
	} {
		for _, w := range strings.Fields(words) {
			m[w] = uint8(kind)
		}
	}
	return m
}()

var stopPrefilter = newPrefilter(maps.Keys(stops))

// Stops returns the kinds of English words without their own meaning that a text has, a bit each. A text is not
// indexed by them, so they are known for the questions that have no other word. It is a pure function.
func Stops(text string) (kinds uint64) {
	for _, raw := range wordsOf(text) {
		if !stopPrefilter.mayContain(raw) {
			continue
		}
		if kind, ok := stops[fold(raw)]; ok {
			kinds |= 1 << kind
		}
	}
	return kinds
}

// StopsAlone reports whether a text has no word but those that carry no meaning by themselves.
func StopsAlone(text string) bool {
	a := analysers.Get().(*analyzer)
	defer a.giveBack()
	a.query = true
	a.analyse(text)
	return len(a.tokens) == 0
}

// A stemmer cuts endings off. It is not safe for concurrent use.
type stemmer struct {
	env   *snowballstem.Env
	known map[string]wordInfo // words met before, folded; nil: none are remembered
}

// A wordInfo holds what does not depend on a word's context.
type wordInfo struct {
	word string // folded
	of   uint16 // the languages of which it is a function word
	term string // its term in the index
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
	} else if len(word) > len("color") && strings.Contains(word, "our") {
		r.term = american(word)
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
