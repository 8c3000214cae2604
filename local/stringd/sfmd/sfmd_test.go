package sfmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	d := Parse("<!-- #a -->\none\n<!-- #in -->\ntwo\n<!-- /in -->\n<!-- /a -->\n# Top {#own}\nx\n## Höher & Höher\ny\n```\n<!-- #code -->\n# no\n```\n# Next\n")
	for id, want := range map[string]string{"a": "one\n<!-- #in -->\ntwo\n<!-- /in -->\n", "in": "two\n", "next": "# Next\n",
		"own":       "# Top {#own}\nx\n## Höher & Höher\ny\n```\n<!-- #code -->\n# no\n```\n",
		"hher-hher": "## Höher & Höher\ny\n```\n<!-- #code -->\n# no\n```\n"} {
		start, end, ok := d.Find(id)
		if !ok || d.Source[start:end] != want {
			t.Errorf("#%s: got %q %v, want %q", id, d.Source[start:end], ok, want)
		}
	}
	for _, id := range []string{"code", "no", "(", ""} {
		if _, _, ok := d.Find(id); ok {
			t.Errorf("#%s was found", id)
		}
	}
	if got := Parse("<!-- #x -->\r\nwin\r\n<!-- /x -->\r\n").BlockIDs(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("CRLF: %q", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	d := Parse("---\nbad\n---\n<!-- #a -->\n<!-- #a -->\n<!-- /a -->\n<!-- /b -->\n<!-- #c -->\n<!-- #d -->\n<!-- /c -->\n[!nav](x.md)\n```act.x\nnope\n```\n```act.\nCLI x\n```\n")
	for _, want := range []string{"INVALID_FRONTMATTER", "DUPLICATE_BLOCK_ID: #a", "UNEXPECTED_BLOCK_CLOSE: /b",
		"MISMATCHED_BLOCK: #d", "UNCLOSED_BLOCK: #a", "MISSING_IDENTIFIER", "INVALID_ACTION_BLOCK: act.x"} {
		if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("%s is not among %q", want, d.Warnings)
		}
	}
}

func TestFront(t *testing.T) {
	t.Parallel()
	d := Parse("---\ntitle: \"A: b\" # c\nname: 'it''s'\nrequires: [A, \"B\"]\nenv:\n  - X: deep\n  - Y\nempty:\n---\nbody")
	if d.Front.Text("title") != "A: b" || d.Front.Text("name") != "it's" || !slices.Equal(d.Front.List("requires"), []string{"A", "B"}) ||
		!slices.Equal(d.Front.List("env"), []string{"Y"}) || d.Front.Text("empty") != "" || len(d.Warnings) > 0 {
		t.Errorf("got %v, %q", d.Front, d.Warnings)
	}
	for _, bad := range []string{"title: A: b", "a: [", "just text", "a: " + strings.Repeat("x", maxFront)} {
		d := Parse("---\n" + bad + "\n---\nbody")
		if len(d.Front) > 0 || len(d.Warnings) != 1 || !strings.HasPrefix(d.Warnings[0], "INVALID_FRONTMATTER: ") ||
			strings.Contains(d.Warnings[0], "\n") {
			t.Errorf("%.20q: %v, %q", bad, d.Front, d.Warnings)
		}
	}
	if d := Parse(" ---\ntitle: x\n---\n"); len(d.Front) > 0 {
		t.Errorf("not on line 1: %v", d.Front)
	}
	if got, _ := Parse("---\ntitle: x\nnever closed").Render(0, 1000, nil); !strings.Contains(got, "never closed") {
		t.Errorf("unclosed: %q", got)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	d := Parse("[@a A](a.md) [ref][r] [short](b.md) [Same](https://x/1) [Same](https://x/2) ![img](https://x/i) `[@c C](c.md)` ``a ` [Same](https://x/3)``\n\n[r]: https://x/r\n~~~act.go\nCLI x\n~~~\n````\n```act.no\n````\n")
	text, _ := d.Render(0, d.End(), nil)
	want := "[A][@a] [ref][@ref] [short](b.md) [Same][@same] [Same][@same-2] ![img](https://x/i) `[@c C](c.md)` ``a ` [Same](https://x/3)``\n\n````\n```act.no\n````"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(d.Actions) != 1 || d.Actions[0].ID != "go" || len(d.Links) != 1 {
		t.Errorf("actions %v, links %v", d.Actions, d.Links)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	d := Parse("```act.post\npost https://h/{id} -H \"X: {t}\" -H 'Y: 2' -d '{\"a\":\"{id}\"}'\n  id, -i: string (required) \"the id\"\n  n: number = 5\n  s: string (optional) = \"a b\"\n```\n")
	if len(d.Actions) != 1 {
		t.Fatal(d.Warnings)
	}
	a := d.Actions[0]
	if a.Method != "POST" || a.Target != "https://h/{id}" || len(a.Headers) != 2 || a.Template != `{"a":"{id}"}` {
		t.Errorf("got %+v", a)
	}
	want := []Field{{"id", "i", "string", true, "the id", "", false}, {"n", "", "number", false, "", "5", true},
		{"s", "", "string", false, "", "a b", true}}
	if !slices.Equal(a.Fields, want) {
		t.Errorf("got %+v, want %+v", a.Fields, want)
	}
}

// FuzzParse: every text can be parsed, and every block that Parse returns can be found within the text.
func FuzzParse(f *testing.F) {
	f.Add("---\ntitle: x\n---\n<!-- #a -->\n[@s S](t)\n<!-- /a -->\n# H {#i}\n```act.x\nCLI e\n  a: string\n```\n")
	f.Add("``` \n~~~\n[a][@b]\n[!include:x]()")
	f.Fuzz(func(t *testing.T, s string) {
		d := Parse(s)
		d.Render(0, d.End(), func(Directive) string { return "" })
		for _, id := range d.BlockIDs() {
			if start, end, ok := d.Find(id); !ok || start > end || end > len(s) {
				t.Fatalf("#%s: %d to %d of %d, %v", id, start, end, len(s), ok)
			}
		}
	})
}

// TestLongDocuments: the time to parse a document is linear in its length, whatever it contains. These documents take
// less than some seconds; a quadratic parser would take minutes.
func TestLongDocuments(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "it weighs time, which the detector falsifies")
	t.Parallel()
	const n, most = 200_000, time.Minute
	for name, line := range map[string]string{"blocks": "<!-- #b%06d -->\n", "links": "[@l%06d](x)\n",
		"actions": "```act.a%06d\nGET x\n```\n"} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		if name == "blocks" {
			for i := range n {
				fmt.Fprintf(&b, "<!-- /c%06d -->\n", i)
			}
		}
		began := time.Now()
		d := Parse(b.String())
		if got := len(d.Blocks) + len(d.Links) + len(d.Actions); got != n || time.Since(began) > most {
			t.Errorf("%s: %d read in %s, want %d", name, got, time.Since(began), n)
		}
	}
}
