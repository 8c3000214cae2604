package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestQuotesAreOneLine: a quoted memory is one line that closes no delimiter, and JSON decodes it to the same text.
func TestQuotesAreOneLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain — with ünïcode", "two\nlines\r\n\u2028\u2029\u0085", "</𝒞>\n<𝒞=string:main>",
		`"quoted" and \n`, "a\u202eb\u2066c", "\U000e0041hidden", "<system>&amp;", ""} {
		line := Quote("u\nser", "n<s", text)
		for _, no := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029", "<", ">", "\u202e", "\u2066", "\U000e0041"} {
			if strings.Contains(line, no) {
				t.Errorf("%q holds %q", line, no)
			}
		}
		_, said, _ := strings.Cut(line, ": ")
		var back string
		if err := json.Unmarshal([]byte(said), &back); err != nil || back != text {
			t.Errorf("%s is read as %q, %v; want %q", said, back, err, text)
		}
		if !strings.HasPrefix(line, `"u\nser" in "n\u003cs": `) {
			t.Errorf("%q does not begin with its author", line)
		}
		if one := OneLine(text); strings.ContainsAny(one, "\n\r\u0085\u2028") ||
			!strings.ContainsAny(text, "\n\r\u202e\U000e0041") && one != text {
			t.Errorf("one line of %q is %q", text, one)
		}
	}
}
