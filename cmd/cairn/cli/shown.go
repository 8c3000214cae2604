package cli

import (
	"cmp"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
)

// Shown is a writer for people. It shows the control characters that a text holds, as \u001b for the one that begins a
// terminal's commands, and passes on line feeds and tabs. Characters that reverse the direction of what follows are
// shown too. In JSON the same escapes mean the same text, so that programs read what they read before. Commands print
// through it whatever they print; what draws on the terminal itself uses Raw.
func Shown(w io.Writer) io.Writer { return &shown{w: w} }

type shown struct {
	w    io.Writer
	part []byte // of a character whose rest comes with the next write
	lost error  // of the first write that failed
}

// Lost returns the error of the first failed write through Shown. A verb has failed when nobody got its output.
func Lost(w io.Writer) error {
	if s, ok := w.(*shown); ok {
		return s.lost
	}
	return nil
}

// Raw returns the writer below Shown, for a protocol, or for drawing. Texts that others wrote go to it through Show
// alone.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*shown); ok {
		return s.w
	}
	return w
}

// Write implements io.Writer.
func (s *shown) Write(b []byte) (int, error) {
	text := append(s.part, b...)
	whole := kit.Whole(text)
	_, err := io.WriteString(s.w, Show(string(text[:whole])))
	s.part = append([]byte(nil), text[whole:]...)
	if err != nil {
		s.lost = cmp.Or(s.lost, err)
		return 0, err
	}
	return len(b), nil
}

// Show replaces the control characters of a text by their escapes.
func Show(text string) string {
	var out []byte
	from := 0
	for i, c := range text {
		size := utf8.RuneLen(c)
		var seen string
		switch {
		case c == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(text[i:]); n != 1 {
				continue // the replacement character itself
			}
			seen, size = fmt.Sprintf(`\x%02x`, text[i]), 1
		case c == '\n' || c == '\t' || !unicode.IsControl(c) && !turns(c):
			continue
		default:
			seen = fmt.Sprintf(`\u%04x`, c)
		}
		out = append(append(out, text[from:i]...), seen...)
		from = i + size
	}
	if out == nil {
		return text
	}
	return string(append(out, text[from:]...))
}

// turns reports whether a character changes the direction in which what follows is shown.
func turns(c rune) bool { return '\u202a' <= c && c <= '\u202e' || '\u2066' <= c && c <= '\u2069' }
