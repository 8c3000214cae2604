package gateway

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestEveryOperationHasAnExample checks that the reference shows a successful example of each operation.
func TestEveryOperationHasAnExample(t *testing.T) {
	without := map[string]string{"reembed": "the node of the examples has no model", "cluster_change": "it is alone",
		"trigger_move": "nothing deserves its attention"}
	all := successfulExamples()
	for _, s := range httpSubjects() {
		for _, op := range s.Ops {
			if _, ok := exampleOf(op, all); ok == (without[op.Name] != "") {
				t.Errorf("%s: no request of %s %s succeeds in examples/", op.Name, op.Method(), op.Path())
			}
		}
	}
}

// TestWhatThePageShows checks that the error and the events on the page look like a node's.
func TestWhatThePageShows(t *testing.T) {
	wrong, err := examples.ReadFile("examples/05_wrong.txt")
	if shown := strings.TrimSuffix(strings.TrimPrefix(errorExample, "<pre tabindex=0>"), "</pre>"); err != nil ||
		!strings.Contains(string(wrong), "\n"+shown+"\n") {
		t.Errorf("no node answered %s (%v)", shown, err)
	}
	_, data, _ := strings.Cut(eventsExample, "event: stored\ndata: ")
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&api.Change{}); err != nil {
		t.Errorf("an event's data: %v", err)
	}
}

// TestCodes checks that the page names the code of each error in the examples.
func TestCodes(t *testing.T) {
	var known string
	for _, r := range documentedErrors {
		known += codesHTML(r)
	}
	files, err := examples.ReadDir("examples")
	for _, f := range files {
		text, _ := examples.ReadFile("examples/" + f.Name())
		for _, m := range regexp.MustCompile(`"code":"([a-z_0-9]+)","error"`).FindAllSubmatch(text, -1) {
			if !strings.Contains(known, "<code>"+string(m[1])+"</code>") {
				t.Errorf("%s: the code %s is not on the page", f.Name(), m[1])
			}
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		route, path string
		want        bool
	}{
		{"/v1/memory/{rid}", "/v1/memory/${A}?min_seq=3", true},
		{"/v1/memory/{rid}", "/v1/memory/${A}/revisions", false},
		{"/v1/memory/{rid}/revisions", "/v1/memory/x/timeline", false},
		{"/v1/v1/{a}", "/v1/v2/b", false},
		{"/v1/{a}/{b}", "/v1/x/y", true},
	} {
		if matches(c.route, c.path) != c.want {
			t.Errorf("%s of %s: %v", c.path, c.route, !c.want)
		}
	}
}
