package gateway

import (
	"embed"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
)

// examples holds requests with their answers. TestGatewayTranscript sends them to a node, so the reference shows
// answers that a node gave. In answers "…" replaces text that differs each time.
//
//go:embed examples/*.txt
var examples embed.FS

// An example is a request and what it was answered.
type example struct{ method, path, body, answer string }

// exampleOf is the first request of the examples that an operation answered as it was asked to.
func exampleOf(op *api.Op, all []example) (example, bool) {
	i := slices.IndexFunc(all, func(e example) bool { return e.method == op.Method() && matches(op.Path(), e.path) })
	if i < 0 {
		return example{}, false
	}
	return all[i], true
}

// matches says whether a path is one of a route's.
func matches(route, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") })
}

// succeeded are the examples whose answer is no error.
func succeeded() (list []example) {
	files, err := examples.ReadDir("examples")
	if err != nil {
		panic(err) // they are in the program
	}
	for _, f := range files {
		text, err := examples.ReadFile("examples/" + f.Name())
		if err != nil {
			panic(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			_, asked, ok := strings.Cut("\n"+block, "\nask\n")
			request, answer, whole := strings.Cut(asked, "\n----\n")
			if !ok || !whole || !strings.HasPrefix(answer, "2") {
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

// documentExample shows what an operation was asked, and what it said.
func documentExample(b *strings.Builder, op *api.Op, all []example) {
	e, ok := exampleOf(op, all)
	if !ok {
		return
	}
	path := e.path
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	fmt.Fprintf(b, "<details><summary>example</summary><pre tabindex=0>%s</pre><pre tabindex=0>%s</pre></details>",
		html.EscapeString(strings.TrimSpace(e.method+" "+path+"\n"+e.body)), html.EscapeString(e.answer))
}
