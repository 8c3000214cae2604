package memory

import (
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// elsewhere are the operations of memories that have a verb that is not made from the table, or none, and why.
var elsewhere = map[*api.Op]string{
	api.Remember.Op:      "cairn remember, over the wire",
	api.RememberBatch.Op: "cairn import",
	api.Recall.Op:        "cairn recall, over the wire",
	api.RecallAsOf.Op:    "cairn recall --as-of",
	api.Forget.Op:        "cairn forget, over the wire",
	api.Relate.Op:        "cairn relate, over the wire",
	api.Graph.Op:         "the same as edges",
	api.PackContext.Op:   "always empty",
	api.Message.Op:       "an envelope for clients of MCP",
}

// TestEveryOperationOfMemoriesHasAVerb: an operation of the table that HTTP offers and that is about memories is a verb.
func TestEveryOperationOfMemoriesHasAVerb(t *testing.T) {
	subjects := []string{"memories", "lists", "time", "sessions", "graph", "mind", "events"}
	for _, s := range api.Subjects {
		for _, op := range s.Ops {
			has := slices.ContainsFunc(list, func(v verb) bool { return v.op == op })
			switch {
			case has && elsewhere[op] != "":
				t.Errorf("%s has a verb, and stands with those that have none", op.Name)
			case !has && elsewhere[op] == "" && op.HTTP != "" && slices.Contains(subjects, s.Name):
				t.Errorf("%s has no verb", op.Name)
			}
		}
	}
}

// TestVerbsNameFieldsThatAre: arguments, columns and flags are fields of the operation. A field that must be there can be given, each flag has a
// name of its own, and every field that is part of a path is an argument.
func TestVerbsNameFieldsThatAre(t *testing.T) {
	for _, v := range list {
		v.described() // panics where a column is no field of the answer
		c := v.command(&cli.Streams{})
		for _, name := range slices.Concat(v.args, v.not) {
			v.op.Takes().Named(name)
		}
		for name := range v.names {
			v.op.Takes().Named(name)
		}
		for _, f := range v.flags() {
			if c.Flags().Lookup(v.flag(f)) == nil {
				t.Errorf("%s: no flag for %s", v.use, f.Name)
			}
			if f.In == "path" {
				t.Errorf("%s: %s is part of the path and no argument", v.use, f.Name)
			}
		}
		if n := len(strings.Fields(v.use)) - 1; n != len(v.args) {
			t.Errorf("%s: %d words for %d arguments", v.use, n, len(v.args))
		}
		if strings.HasSuffix(c.Short, ".") || len(c.Short) > 90 {
			t.Errorf("%s: help has a line for it: %q", v.use, c.Short)
		}
	}
}

// TestRequests: what is typed becomes the request that HTTP expects.
func TestRequests(t *testing.T) {
	for _, tc := range []struct{ typed, method, path, body string }{
		{"get 0190", "GET", "/v1/memory/0190", ""},
		{"get a/b --consistency linearizable", "GET", "/v1/memory/a%2Fb?consistency=linearizable", ""},
		{"list -n work --limit 5 --before 2026-01-31", "GET", "/v1/memories?before=2026-01-31&limit=5&namespace=work", ""},
		{"correct 0190 Bob --reason moved --importance 0.9 --metadata {\"a\":null} --embedding 1,2.5", "POST", "/v1/correct",
			`{"embedding":[1,2.5],"metadata_merge":{"a":null},"new_importance":0.9,"new_text":"Bob","reason":"moved","rid":"0190"}`},
		{"unrelate 7", "DELETE", "/v1/edges/7", `{}`},
		{"claim Ada drinks tea --valid-from 2026-01-31 --valid-to 1800000000 --polarity -1", "POST", "/v1/claim",
			`{"dst":"tea","polarity":-1,"rel_type":"drinks","src":"Ada","valid_from":"2026-01-31","valid_to":1800000000}`},
		{"triggers act 7", "POST", "/v1/triggers/7/act", `{}`},
		{"think --run-pattern-mining --run-consolidation=false", "POST", "/v1/think", `{"run_consolidation":false,"run_pattern_mining":true}`},
		{"watch --type stored,forgotten --type corrected", "GET", "/v1/events?type=stored&type=forgotten&type=corrected", ""},
	} {
		words := strings.Fields(tc.typed)
		i := slices.IndexFunc(list, func(v verb) bool {
			name, _, _ := strings.Cut(v.use, " ")
			return name == words[0] || v.group == words[0] && name == words[1]
		})
		v := list[i]
		if v.group != "" {
			words = words[1:]
		}
		c := v.command(&cli.Streams{Out: io.Discard, Err: io.Discard})
		given := map[string][]string{}
		fs := c.Flags()
		for _, f := range v.flags() { // the values of the command are its own: these are the test's
			fs.Lookup(v.flag(f)).Value = &value{f, "--" + v.flag(f), given}
		}
		if err := fs.Parse(words[1:]); err != nil {
			t.Errorf("%s: %v", tc.typed, err)
			continue
		}
		if err := v.complete(given, fs.Args()); err != nil {
			t.Errorf("%s: %v", tc.typed, err)
			continue
		}
		method, path, body := v.request(given)
		text := ""
		if body != nil {
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if got, want := [3]string{method, path, text}, [3]string{tc.method, tc.path, tc.body}; got != want {
			t.Errorf("%s:\n got %q\nwant %q", tc.typed, got, want)
		}
	}
}

// TestEventsOfAStream: events are told in order; the last place to resume behind is known, of the subscription itself before any event.
func TestEventsOfAStream(t *testing.T) {
	const begun = "event: subscribed\ndata: {\"index\":40}\n\n"
	for stream, want := range map[string]string{
		begun: "40",
		begun + ":\n\nid: 41\nevent: stored\ndata: {\"rid\":\"a\"}\n\nevent: stored\ndata: {}\n\n": "41",
		begun + "id: 41\nevent: stored\n": "40", // it was cut off: it comes again
	} {
		var names []string
		last, err := events(strings.NewReader(stream), func(e event) error { names = append(names, e.Name); return nil })
		if err != nil || last != want || !reflect.DeepEqual(names[0], "subscribed") {
			t.Errorf("%q: last %q of %v, %v; want %q", stream, last, names, err, want)
		}
	}
}
