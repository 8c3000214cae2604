package kit

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"unicode/utf8"
)

// Whole returns the length of a text without an incomplete character at its end.
func Whole(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		tail := text[len(text)-back:]
		switch {
		case !utf8.RuneStart(tail[0]):
		case utf8.FullRune(tail):
			return len(text)
		default:
			return len(text) - back
		}
	}
	return len(text)
}

// ErrLongLine is the error of a line over the limit. Lines continues after it.
var ErrLongLine = errors.New("line is too long")

// Lines iterates over the lines of a file, each with its newline; the last may lack it. The next line overwrites a
// line. A line over most bytes is an ErrLongLine; any other error ends the iteration.
func Lines(r io.Reader, most int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for long := false; ; {
			part, err := in.ReadSlice('\n')
			if long = long || len(line)+len(part) > most; !long {
				line = append(line, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if long && !yield(nil, ErrLongLine) || !long && len(line) > 0 && !yield(line, nil) || err != nil {
				return
			}
			line, long = line[:0], false
		}
	}
}
