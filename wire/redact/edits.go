package redact

import (
	"iter"
	"strings"
)

// edits builds a text with replacements, which are made in order of position.
type edits struct {
	s    string
	done strings.Builder // the text up to end, with its replacements
	end  int
}

// replace replaces s[from:to], which begins after all earlier replacements.
func (e *edits) replace(from, to int, with string) {
	e.done.WriteString(e.s[e.end:from])
	e.done.WriteString(with)
	e.end = to
}

func (e *edits) String() string {
	if e.end == 0 {
		return e.s
	}
	e.done.WriteString(e.s[e.end:])
	return e.done.String()
}

// runs yields the bounds of each maximal run of bytes of a kind.
func runs(s string, kind func(byte) bool) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(s); i++ {
			from := i
			for i < len(s) && kind(s[i]) {
				i++
			}
			if i > from && !yield(from, i) {
				return
			}
		}
	}
}
