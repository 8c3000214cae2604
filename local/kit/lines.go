package kit

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"unicode/utf8"
)

// CompleteRunes returns the length of text without an incomplete character at its end.
func CompleteRunes(text []byte) int {
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

// ErrLongLine reports a line over the limit. The iteration of Lines continues after it.
var ErrLongLine = errors.New("line is too long")

// Lines iterates over the lines of a file, each with its newline; the last line may lack it. Each line is valid until
// the next one. A line over limit bytes yields ErrLongLine; any other error ends the iteration.
func Lines(r io.Reader, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for tooLong := false; ; {
			part, err := in.ReadSlice('\n')
			if tooLong = tooLong || len(line)+len(part) > limit; !tooLong {
				line = append(line, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if tooLong && !yield(nil, ErrLongLine) || !tooLong && len(line) > 0 && !yield(line, nil) || err != nil {
				return
			}
			line, tooLong = line[:0], false
		}
	}
}
