package rank

import (
	"strings"
	"unicode"
)

// A subject is the person that a question is about.
type subject struct {
	words    string // its words between spaces
	asker    bool
	speakers map[string]speaker // as far as known
	last     [2]speaker         // the two looked up last: most conversations have two speakers
}

type speaker struct {
	name  string
	named bool // in the question
	asks  bool // and the question speaks of its asker
}

func newSubject(question string) subject {
	s := subject{words: " " + strings.Join(words(question), " ") + " "}
	for _, w := range []string{" i ", " my ", " me ", " we ", " our "} {
		s.asker = s.asker || strings.Contains(s.words, w)
	}
	return s
}

// of returns how the question mentions the speaker of a row.
func (s *subject) of(name string) speaker {
	for _, k := range s.last {
		if k.name == name { // an empty entry matches an empty name, which no question names
			return k
		}
	}
	k, ok := s.speakers[name]
	if !ok {
		ws := words(name)
		k = speaker{name, len(ws) > 0 && strings.Contains(s.words, " "+strings.Join(ws, " ")+" "),
			s.asker && strings.EqualFold(name, "user")}
		if s.speakers == nil {
			s.speakers = map[string]speaker{}
		}
		s.speakers[name] = k
	}
	s.last[1], s.last[0] = s.last[0], k
	return k
}

// words returns a text's words in lower case.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
