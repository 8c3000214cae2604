package gateway

import (
	"embed"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// beside are the files that the page loads: its style, and the search in it.
//
//go:embed docs.css docs.js
var beside embed.FS

// docs is the same for people: one page, nothing from elsewhere.
var docs = sync.OnceValue(func() []byte {
	known, shown := allShapes(), succeeded()
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Cairn gateway</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/docs/docs.css"><script type="module" src="/docs/docs.js"></script>
<main><h1>Cairn gateway</h1><p>Memory for agents over HTTP. Send <code>Authorization: Bearer &lt;token&gt;</code> and JSON bodies. Times in answers are Unix seconds; a <code>date</code> in a
request is that or RFC 3339 (a bare date is its first instant, UTC). <code>hours</code> are more than 0, <code>unit</code> is a number from 0 to 1, <code>signed</code> from -1 to 1,
<code>window</code> is [from, to]. Unknown fields, values of another type and numbers out of range are refused by name. A node that does not lead forwards writes and names the leader in <code>X-Cairn-Leader</code>; with
<code>[server] forward_writes = false</code> it answers 307 with the leader's address, unless the request says <code>X-Cairn-Forward: 1</code>. The same for programs: <a href="/openapi.json">openapi.json</a>. A form for each: <a href="/#requests">Requests</a>.
Examples are what a node answered; … stands for what differs each time, <code>${A}</code> for an id.</p>
<div class="search" role="search" hidden><input type="search" aria-label="Search the reference" placeholder="Search operations, fields and shapes"><span role="status"></span></div>`)
	for _, s := range subjects() {
		fmt.Fprintf(&b, "<div class=subject><h1>%s</h1><p>%s</p>\n", s.Name, html.EscapeString(s.About))
		for _, op := range s.Ops {
			documentOp(&b, op, known, shown)
		}
		b.WriteString("</div>\n")
	}
	b.WriteString("<div class=subject><h1>Shapes</h1>")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&b, "<section id=%s><h2>%s</h2>", name, name)
		describe(&b, known[name], known, name != "Draft")
		b.WriteString("</section>\n")
	}
	b.WriteString("</div></main>\n")
	return []byte(b.String())
})

// documentOp writes what an operation is for, and its fields.
func documentOp(b *strings.Builder, op *api.Op, known map[string]field.Object, shown []example) {
	fmt.Fprintf(b, "<section id=%s><h2><b>%s</b> <code>%s</code></h2><p>%s <i>%s</i> <a href=\"/#requests/%s\">Try it</a></p>",
		op.Name, op.Method(), html.EscapeString(op.Path()), html.EscapeString(summary(op)), html.EscapeString(terms(op)), op.Name)
	for _, part := range []struct {
		name string
		of   field.Object
	}{{"path", op.InPath()}, {"query", inQuery(op)}, {"body", op.InBody()}, {"answer", op.Gives()}} {
		if len(part.of) > 0 {
			fmt.Fprintf(b, "<p class=f>%s:</p>", part.name)
			describe(b, part.of, known, part.name == "answer")
		}
	}
	documentExample(b, op, shown)
	documentErrors(b, op)
	b.WriteString("</section>\n")
}

// documentErrors writes which errors an operation answers with, and what they mean.
func documentErrors(b *strings.Builder, op *api.Op) {
	all := responses(op)
	delete(all, "200")
	b.WriteString("<details><summary>errors</summary><dl>")
	for _, status := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "<dt><code>%s</code></dt><dd>%s</dd>", status, html.EscapeString(all[status].(map[string]any)["description"].(string)))
	}
	b.WriteString("</dl></details>")
}

// describe writes fields: of an answer it says what may be missing, of a request what may not.
func describe(b *strings.Builder, o field.Object, shapes map[string]field.Object, answer bool) {
	b.WriteString("<dl>")
	for _, f := range o {
		need := ""
		switch {
		case f.Idle:
			continue
		case f.Nullable:
			need = " or null"
		case f.Must && !answer:
			need = " required"
		case !f.Must && answer:
			need = ", may be missing"
		}
		if f.Default != "" {
			need += ", " + f.Default + " when left out"
		}
		kind := html.EscapeString(f.Kind.Name)
		if name := strings.TrimPrefix(f.Kind.Name, "[]"); shapes[name] != nil {
			kind = strings.TrimSuffix(kind, name) + "<a href=#" + name + ">" + name + "</a>"
		}
		fmt.Fprintf(b, "<dt><code>%s</code> <small>%s%s</small></dt><dd>%s</dd>", f.Name, kind, html.EscapeString(need), html.EscapeString(f.Doc))
	}
	b.WriteString("</dl>")
}

// docsPolicy lets the page load what this node serves and nothing more; no script or style is inline.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocs answers with the page, and with what it loads.
func serveDocs() http.Handler {
	below := http.StripPrefix("/docs", http.FileServerFS(beside))
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
		_, _ = w.Write(docs()) // a client that went away is no failure of ours
	})
}
