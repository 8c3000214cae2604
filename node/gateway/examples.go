package gateway

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
)

// examples holds requests with their answers. TestGatewayTranscript sends them to a node and compares the answers, so
// the reference shows real ones. In answers "…" replaces text that differs each time.
//
//go:embed examples/*.txt
var examples embed.FS

// An example is a request and its answer.
type example struct{ method, path, body, answer string }

// exampleOf returns the first successful example of an operation.
func exampleOf(op *api.Op, all []example) (example, bool) {
	i := slices.IndexFunc(all, func(e example) bool { return e.method == op.Method() && matches(op.Path(), e.path) })
	if i < 0 {
		return example{}, false
	}
	return all[i], true
}

// matches reports whether a path belongs to a route.
func matches(route, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") })
}

// successfulExamples returns the examples whose answer is not an error.
func successfulExamples() (list []example) {
	files, err := examples.ReadDir("examples")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, f := range files {
		text, err := examples.ReadFile("examples/" + f.Name())
		if err != nil {
			panic(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			_, exchange, ok := strings.Cut("\n"+block, "\nask\n")
			request, answer, complete := strings.Cut(exchange, "\n----\n")
			if !ok || !complete || !strings.HasPrefix(answer, "2") {
				continue
			}
			line, body, _ := strings.Cut(request, "\n")
			words := strings.Fields(line)
			if slices.Contains(words, "token=none") && len(words) > 3 {
				continue
			}
			list = append(list, example{words[0], words[1], body, strings.TrimSpace(answer)})
		}
	}
	return list
}

// documentExample writes a request as a shell command, and its answer.
func documentExample(b *strings.Builder, op *api.Op, all []example) {
	e, ok := exampleOf(op, all)
	if !ok {
		return
	}
	status, answer, _ := strings.Cut(e.answer, "\n")
	var spread bytes.Buffer
	if json.Indent(&spread, []byte(answer), "", "  ") == nil {
		answer = spread.String()
	}
	fmt.Fprintf(b, "<pre tabindex=0>%s</pre>", html.EscapeString(withIDs(curl(op, e))))
	if answer != "" {
		fmt.Fprintf(b, "<pre tabindex=0>%s</pre>", html.EscapeString(withIDs(answer)))
	} else {
		fmt.Fprintf(b, "<p>It answers %s and nothing more.</p>", status)
	}
}

// curl returns the command that sends a request.
func curl(op *api.Op, e example) string {
	var b strings.Builder
	b.WriteString("curl -s")
	if op.Method() != "GET" && (op.Method() != "POST" || e.body == "") {
		b.WriteString(" -X " + op.Method())
	}
	path, query, _ := strings.Cut(e.path, "?")
	at := "$CAIRN" + e.path
	switch {
	case strings.ContainsAny(query, `{["`): // as JSON, which curl encodes
		at = "-G $CAIRN" + path
		for p := range strings.SplitSeq(query, "&") {
			at += " --data-urlencode '" + p + "'"
		}
	case strings.ContainsAny(at, "&? '"):
		at = `"` + at + `"`
	}
	b.WriteString(" " + at)
	if op.Scope != "" {
		b.WriteString(` -H "Authorization: Bearer $TOKEN"`)
	}
	if e.body != "" {
		fmt.Fprintf(&b, " \\\n  -H 'Content-Type: %s'", cmp.Or(op.Body, jsonType))
	}
	if e.body != "" {
		b.WriteString(" \\\n  --data-binary '" + strings.ReplaceAll(e.body, "'", `'\''`) + "'")
	}
	return b.String()
}

// withIDs replaces the examples' placeholders for ids, such as ${A}, with ids.
func withIDs(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		return fmt.Sprintf("0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c%02x%02x", name[2], len(name))
	})
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_0-9]+\}`)
