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
		each few more most other some such no nor not only own same so than too very can will just`) {
		m[w] = struct{}{}
	}
	return m
}()

// A stemmer cuts endings off. It is not safe for concurrent use.
type stemmer struct {
	env   *snowballstem.Env
	known map[string]string // stems met before; nil: none are remembered
}

// knownStems bounds the stems that are remembered, about 3 MiB: a text repeats its words, and looking one up costs a tenth of stemming it.
const knownStems = 1 << 15

// stem cuts English endings off. It leaves alone what is not a plain lower-case a–z word: names, numbers, other scripts.
func (s *stemmer) stem(w string) string {
	if len(w) < 3 || len(w) > 40 {
		return w
	}
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	if stem, ok := s.known[w]; ok {
		return stem
	}
	w = strings.Clone(w) // a piece of a text, which the stems do not keep
	stem := s.run(english.Stem, w)
	if len(s.known) >= knownStems {
		clear(s.known)
	}
	if s.known != nil {
		s.known[w] = stem
	}
	return stem
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
