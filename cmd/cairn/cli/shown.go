package cli

import (
	"cmp"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
)

// NewEscaper returns a writer that escapes control characters, such as ESC as \u001b, and characters that change the
// text direction. It passes line feeds and tabs. Stored texts therefore cannot control the user's terminal. JSON
// output keeps its meaning, because JSON has the same escapes. All commands print through it; drawing on a terminal
// needs Raw.
func NewEscaper(w io.Writer) io.Writer { return &escaper{w: w} }

type escaper struct {
	w        io.Writer
	partial  []byte // an incomplete UTF-8 character at the end of the last write
	firstErr error  // error of the first failed write
}

// WriteError returns the error of the first failed write through NewEscaper's writer. A command whose output is lost
// must fail.
func WriteError(w io.Writer) error {
	if s, ok := w.(*escaper); ok {
		return s.firstErr
	}
	return nil
}

// Raw returns the writer below NewEscaper's, for a protocol or for drawing. Callers escape stored texts with Escape.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*escaper); ok {
		return s.w
	}
	return w
}

// Write implements io.Writer.
func (s *escaper) Write(b []byte) (int, error) {
	text := append(s.partial, b...)
	whole := kit.CompleteRunes(text)
	_, err := io.WriteString(s.w, Escape(string(text[:whole])))
	s.partial = append([]byte(nil), text[whole:]...)
	if err != nil {
		s.firstErr = cmp.Or(s.firstErr, err)
		return 0, err
	}
	return len(b), nil
}

// Escape replaces control characters, characters that change the direction, and invalid UTF-8 with escapes.
func Escape(text string) string {
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
		case c == '\n' || c == '\t' || !unicode.IsControl(c) && !isBidiControl(c):
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

// isBidiControl reports whether a character changes the direction of the text after it.
func isBidiControl(c rune) bool {
	return '\u202a' <= c && c <= '\u202e' || '\u2066' <= c && c <= '\u2069'
}
