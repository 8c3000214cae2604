package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestShow: text that a terminal would execute is made visible, however it is split over writes. Other text does not
// change.
func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"plain, é 漢 😀\tand\n":   "plain, é 漢 😀\tand\n",
		"\x1b]52;c;aGk=\a":      `\u001b]52;c;aGk=\u0007`,
		"a\rb\x00\x7f\u009b31m": `a\u000db\u0000\u007f\u009b31m`,
		"\u202eevil\u2066":      `\u202eevil\u2066`,
		"\x9b1m\xff �":          `\x9b1m\xff �`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		for _, n := range []int{1, 2, 3, 100} {
			var out strings.Builder
			w := NewEscaper(&out)
			for rest := text; rest != ""; rest = rest[min(n, len(rest)):] {
				if _, err := w.Write([]byte(rest[:min(n, len(rest))])); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != want {
				t.Errorf("%q in writes of %d: %q, want %q", text, n, got, want)
			}
		}
	}
	b, err := json.Marshal("\x1b\x7f\u009b\u202e é")
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(Escape(string(b))), &back); err != nil || back != "\x1b\x7f\u009b\u202e é" {
		t.Errorf("through JSON: %q, %v", back, err)
	}
}
