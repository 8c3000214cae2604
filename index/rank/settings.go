package rank

import (
	"maps"
	"slices"
)

// Settings are the weights of the signals. A zero switches its signal off; start from Defaults. One flat table: each
// number is fitted together with all others.
type Settings struct {
	K1, B      float64 // .9, .4: of BM25, for words and passage alike
	Density    float64 // 20: tokens from which a text's length counts against it; twice as many among brief texts
	Passage    float64 // .5
	Around     float64 // .25; a fifth more among brief texts
	Reach      int     // 4: neighbours to either side that count
	Step       float64 // .5: the share that is left a step away; a fifth more among brief texts
	Answer     float64 // 2: factor on what an answer inherits from the question just before it
	Refers     float64 // .5: added to what earlier rows count beside a row that refers to them, where texts are short turns
	Session    float64 // .1: for one standard deviation above the average session
	Named      float64 // .3: the speaker is named
	Asker      float64 // .5: the question speaks of its asker, the memory is the user's own
	Date       float64 // 1
	When       float64 // .3: a time is asked for, and the memory holds one
	Short      float64 // .3: taken off an empty memory where texts are short turns, less by its share of their mean length
	Questions  float64 // .2: taken off a memory that is a question
	Vector     float64 // 1.6: a row is lifted by this much at most, with a real embedder
	Fill       bool    // true: without one, vectors only fill what words leave empty
	Near       float64 // .1: cosine from which a memory is like the question at all
	Graph      float64 // .15
	Freshness  float64 // .05: bound of the freshness factor
	Importance bool    // true: importance, behind the gate
	Distrust   float64 // .1: taken off a row for each class that its writer is trusted less than an agent
	Weights    Weights
}

// Defaults returns the one configuration for all data.
func Defaults() Settings {
	return Settings{
		K1: .9, B: .4, Density: 20,
		Passage: .5, Around: .25, Reach: 4, Step: .5, Answer: 2, Refers: .5,
		Session: .1, Named: .3, Asker: .5, Date: 1, When: .3, Short: .3, Questions: .2,
		Vector: 1.6, Fill: true, Near: .1, Graph: .15,
		Freshness: .05, Importance: true, Distrust: .1,
		Weights: DefaultWeights(),
	}
}

// Learn takes over a database's learned weights. Sim weighs vectors next to words: as much as by default when it is
// .5.
func (s *Settings) Learn(w Weights) {
	s.Weights = w
	s.Vector = float64(Defaults().Vector * 2 * w.Sim)
}

// trust returns the factor on a row whose writer is so many classes below an agent.
func (s *Settings) trust(below uint8) float64 {
	f := 1.0
	for range below {
		f = float64(f * (1 - s.Distrust))
	}
	return f
}

// switches turn single signals off.
var switches = map[string]func(*Settings){
	"passage":    func(s *Settings) { s.Passage = 0 },
	"around":     func(s *Settings) { s.Around = 0 },
	"refers":     func(s *Settings) { s.Refers = 0 },
	"session":    func(s *Settings) { s.Session = 0 },
	"density":    func(s *Settings) { s.Density = 0 },
	"speaker":    func(s *Settings) { s.Named = 0 },
	"asker":      func(s *Settings) { s.Asker = 0 },
	"date":       func(s *Settings) { s.Date = 0 },
	"when":       func(s *Settings) { s.When = 0 },
	"short":      func(s *Settings) { s.Short = 0 },
	"questions":  func(s *Settings) { s.Questions = 0 },
	"vector":     func(s *Settings) { s.Vector, s.Fill = 0, false },
	"graph":      func(s *Settings) { s.Graph = 0 },
	"freshness":  func(s *Settings) { s.Freshness = 0 },
	"importance": func(s *Settings) { s.Importance = false },
	"trust":      func(s *Settings) { s.Distrust = 0 },
}

// Off turns a signal off, and reports whether there is one of that name.
func (s *Settings) Off(name string) bool {
	f := switches[name]
	if f != nil {
		f(s)
	}
	return f != nil
}

// Switches returns the names that Off knows.
func Switches() []string { return slices.Sorted(maps.Keys(switches)) }
