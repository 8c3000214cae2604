package transfer

import (
	"strings"
	"testing"
)

// TestDocumentsWithLists: an object with a text is one document, even if it has fields with lists.
func TestDocumentsWithLists(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"text":"a","results":[]}`:                                     "a",
		`{"content":"b","relations":["x"],"page":1}`:                    "b",
		`{"type":"memory","text":"c","results":["x"]}`:                  "c",
		`{"results":[{"memory":"d"}],"relations":[]}`:                   "d",
		`{"results":[{"memory":"e","results":[]},{"text":"f"}],"id":1}`: "e f",
	} {
		var got []string
		for r := newRows(strings.NewReader(in)); ; {
			row, err := r.next()
			if err != nil {
				break
			}
			got = append(got, row.text("text", "memory"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", in, s, want)
		}
	}
}

// TestHeadingsWithNumbers: each section has a unique key, even if a heading equals the numbered key of another.
func TestHeadingsWithNumbers(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t,
		map[string]string{"a.md": "top\n# Step\none\n# Step\ntwo\n# Step 2\nthree\n# Step 3\nfour\n# Step\nfive\n# Step 2\nsix\n"})
	want := `1: /notes/a.md "top"
2: /notes/a.md#step "Step\n\none"
3: /notes/a.md#step-2 "Step\n\ntwo"
4: /notes/a.md#step-2-2 "Step 2\n\nthree"
5: /notes/a.md#step-3 "Step 3\n\nfour"
6: /notes/a.md#step-4 "Step\n\nfive"
7: /notes/a.md#step-2-3 "Step 2\n\nsix"`
	if got := readAll(t, dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHeadingsThatEndInASign: only # characters after a blank are stripped from the end of a heading.
// TestCodeBetweenHeadings: inline code with three backticks opens no code block. A block ends with a fence of the
// same character of at least the same length, and contains no headings.
func TestCodeBetweenHeadings(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t,
		map[string]string{"a.md": "# A\n```go run``` starts it\n# B\n````\n```\n# no heading\n````\n# C\n~~~ a`b\n# none\n~~~\n# D\nend\n"})
	want := "1: /notes/a.md \"A\\n\\n```go run``` starts it\"\n" +
		"2: /notes/a.md#b \"B\\n\\n````\\n```\\n# no heading\\n````\"\n" +
		"3: /notes/a.md#c \"C\\n\\n~~~ a`b\\n# none\\n~~~\"\n" +
		"4: /notes/a.md#d \"D\\n\\nend\""
	if got := readAll(t, dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHeadingsThatEndInASign(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.md": "# C#\none\n## F# ##\ntwo\n# #1 #\nthree\n## ##\nfour\n"})
	want := `1: /notes/a.md "C#\n\none"
2: /notes/a.md#f "C# > F#\n\ntwo"
3: /notes/a.md#1 "#1\n\nthree"
4: /notes/a.md# "#1 > \n\nfour"`
	if got := readAll(t, dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
