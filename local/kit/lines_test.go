package kit

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines yields each line with its newline, however the bytes arrive. For a line over the limit it yields an error.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	text := "one\n\n" + long + "\n" + long + long + "\ntwo\nlast"
	want := []string{"one\n", "\n", long + "\n", ErrLongLine.Error(), "two\n", "last"}
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		for line, err := range Lines(r, len(long)+1) {
			if err != nil {
				line = []byte(err.Error())
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.60q", got)
		}
	}
	broken := errors.New("broken")
	n := 0
	for line, err := range Lines(io.MultiReader(strings.NewReader("one\ntw"), iotest.ErrReader(broken)), 10) {
		if n++; n == 1 && string(line) != "one\n" || n == 2 && !errors.Is(err, broken) || n > 2 {
			t.Errorf("%d: %q, %v", n, line, err)
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
}

// CompleteRunes cuts an incomplete character off. Bytes that cannot become a character are kept.
func TestCompleteRunes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "ab": 2, "a\u20ac": 4, "a\xe2\x82": 1, "a\xe2": 1, "\xf0\x9f\x98": 0,
		"a\x82": 2, "a\xff": 2} {
		if got := CompleteRunes([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
