package gateway

import (
	"embed"
	"fmt"
	"html"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// docsFiles holds the style and the search of the page.
//
//go:embed docs.css docs.js
var docsFiles embed.FS

// docs returns the reference for people: one page that loads nothing from other servers.
var docs = sync.OnceValue(func() []byte {
	shapes, examples := allShapes(), successfulExamples()
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Cairn: HTTP reference</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/docs/docs.css"><script type="module" src="/docs/docs.js"></script>
<nav aria-label="Contents"><div class="search" role="search" hidden><input type="search" aria-label="Search the reference" placeholder="Search"><span role="status"></span></div>`)
	contents(&b, shapes)
	b.WriteString("</nav><main>" + docsIntro)
	b.WriteString("<section id=errors><h2>Errors</h2><p>An error is <code>{\"error\": \"a message for people\", \"code\": \"a code for programs\"}</code>.</p><table><thead><tr><th>status<th>code<th>meaning</thead><tbody>")
	for _, r := range slices.SortedStableFunc(slices.Values(documentedErrors),
		func(a, b documentedError) int { return strings.Compare(a.status, b.status) }) {
		fmt.Fprintf(&b, "<tr><td><code>%s</code><td>%s<td>%s", r.status, codesHTML(r), html.EscapeString(r.text))
	}
	b.WriteString("</tbody></table>" + errorExample + "</section></div>\n")
	for _, s := range httpSubjects() {
		fmt.Fprintf(&b, "<div class=subject><h1 id=subject-%s>%s</h1><p>%s</p>\n", s.Name, title(s.Name), html.EscapeString(s.About))
		for _, op := range s.Ops {
			documentOp(&b, op, shapes, examples)
		}
		b.WriteString("</div>\n")
	}
	b.WriteString("<div class=subject><h1 id=shapes>Shapes</h1><p>Objects that requests and answers have in common.</p>")
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		fmt.Fprintf(&b, "<section id=%s><h2>%s</h2>", name, name)
		describe(&b, "fields", shapes[name], shapes, name != "Draft")
		b.WriteString("</section>\n")
	}
	b.WriteString("</div></main>\n")
	return []byte(b.String())
})

// docsIntro describes what applies to all operations.
//
//go:embed docs.html
var docsIntro string

// An error answer, and the beginning of an event stream. Tests compare both with a node's answers.
const (
	errorExample  = `<pre tabindex=0>{"code":"invalid_request","error":"unknown field 'queri': did you mean 'query'?"}</pre>`
	eventsExample = `<pre tabindex=0>event: subscribed
data: {"index":41}

id: 42
event: stored
data: {"index":42,"number":1,"id":"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c4104","at":1767225600.125}
</pre>`
)

// codesHTML lists the codes of an error.
func codesHTML(r documentedError) string {
	list := slices.Clone(r.codes)
	if r.name == "not_found" {
		for _, op := range api.Ops {
			if op.Missing != "" && !slices.Contains(list, op.Missing) {
				list = append(list, op.Missing)
			}
		}
	}
	return "<code>" + strings.Join(list, "</code><br><code>") + "</code>"
}

// title returns a subject's name as a heading.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// contents writes the table of contents: the operations by subject, and the shapes.
func contents(b *strings.Builder, known map[string]field.Object) {
	b.WriteString("<ul><li><a href=#quick-start>Quick start</a><li><a href=#conventions>Conventions</a><li><a href=#filters>Filters</a><li><a href=#errors>Errors</a></ul>")
	for _, s := range httpSubjects() {
		fmt.Fprintf(b, "<details><summary>%s</summary><ul>", title(s.Name))
		for _, op := range s.Ops {
			fmt.Fprintf(b, "<li><a href=#%s>%s</a>", op.Name, op.Name)
		}
		b.WriteString("</ul></details>")
	}
	b.WriteString("<details><summary>Shapes</summary><ul>")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(b, "<li><a href=#%s>%s</a>", name, name)
	}
	b.WriteString("</ul></details>")
}

// documentOp writes the section of an operation: its purpose, its fields, an example to paste, and the answer.
func documentOp(b *strings.Builder, op *api.Op, known map[string]field.Object, shown []example) {
	fmt.Fprintf(b, "<section id=%s><h2>%s</h2><p class=call><b>%s</b> <code>%s</code> <a href=\"/#requests/%s\">Try it</a></p><p>%s <i>%s</i></p>",
		op.Name, op.Name, op.Method(), html.EscapeString(op.Path()), op.Name, html.EscapeString(summary(op)), html.EscapeString(requirements(op)))
	for _, part := range []struct {
		name string
		of   field.Object
	}{{"path", op.InPath()}, {"query", op.InQuery()}, {"body", op.InBody()}} {
		describe(b, part.name, part.of, known, false)
	}
	documentExample(b, op, shown)
	if op == api.Events.Op {
		b.WriteString(eventsExample)
		describe(b, "data of an event", field.Of(reflect.TypeFor[api.Change]()).Answered(), known, true)
	}
	if op.Missing != "" {
		fmt.Fprintf(b, "<p>What is not there is <code>404</code> <code>%s</code>.</p>", op.Missing)
	}
	describe(b, "answer", op.Gives(), known, true)
	b.WriteString("</section>\n")
}

// describe writes a table of fields. For an answer it marks fields that may be missing, for a request the required
// ones.
func describe(b *strings.Builder, what string, o field.Object, shapes map[string]field.Object, answer bool) {
	if o = slices.DeleteFunc(slices.Clone(o), func(f field.Field) bool { return f.Idle }); len(o) == 0 {
		return
	}
	preset := "default"
	if answer {
		preset = "always there"
	}
	fmt.Fprintf(b, "<table><thead><tr><th>%s<th>type<th>%s<th>meaning</thead><tbody>", what, preset)
	for _, f := range o {
		need := html.EscapeString(f.Default)
		switch {
		case answer && f.Nullable:
			need = "or null"
		case answer && f.Must:
			need = "yes"
		case answer:
			need = "no"
		case f.Must || f.In == "path":
			need = "<strong>required</strong>"
		}
		fmt.Fprintf(b, "<tr><td><code>%s</code><td>%s<td>%s<td>%s", f.Name, typeCell(f, shapes), need, html.EscapeString(f.Doc))
	}
	b.WriteString("</tbody></table>")
}

// typeCell returns the type of a field, with a link to its shape.
func typeCell(f field.Field, shapes map[string]field.Object) string {
	name := strings.TrimPrefix(f.Kind.Name, "[]")
	switch {
	case shapes[name] == nil:
		return html.EscapeString(f.Kind.Want)
	case name == f.Kind.Name:
		return "<a href=#" + name + ">" + name + "</a>"
	}
	return "a list of <a href=#" + name + ">" + name + "</a>"
}

// docsPolicy lets the page load only files of this node, and no inline script or style.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocs serves the page and its files.
func serveDocs() http.Handler {
	below := http.StripPrefix("/docs", http.FileServerFS(docsFiles))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path != "/docs" {
			below.ServeHTTP(w, r)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(docs()) // the client may have left
	})
}
