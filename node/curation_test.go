package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// recalled returns the texts of a recall, in the order of ranks.
func recalled(t *testing.T, w *web, query string) string {
	t.Helper()
	var texts []string
	for _, r := range w.ok("POST", "/v1/recall", obj{"query": query, "skip_reinforce": true})["results"].([]any) {
		texts = append(texts, r.(obj)["text"].(string))
	}
	return strings.Join(texts, " | ")
}

// TestCurationIsTakenBack checks that a merge, a split and a move are one entry each, change what every node recalls,
// and leave no trace after an undo on another node: text, importance, key, claims.
func TestCurationIsTakenBack(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	w, other := c.web(0), c.web(1)
	a := w.ok("POST", "/v1/put", obj{"key": "/people/ada", "text": "Ada works at Acme", "importance": 0.7})["rid"].(string)
	b := w.ok("POST", "/v1/remember", obj{"text": "Ada plays chess. Ada drinks tea.", "pin": true})["rid"].(string)
	whole := func(rid string) string {
		m := other.ok("GET", "/v1/memory/"+rid+"?consistency=linearizable", nil)
		for _, moment := range []string{"updated_at", "updated_at_iso", "last_access", "access_count", "claims"} {
			if moment == "claims" {
				m[moment] = len(m[moment].([]any))
			} else {
				delete(m, moment)
			}
		}
		said, _ := json.Marshal(m)
		return string(said)
	}
	beforeA, beforeB := whole(a), whole(b)
	same := func(after string) {
		t.Helper()
		if got := whole(a); got != beforeA {
			t.Errorf("after %s:\n got %s\nwant %s", after, got, beforeA)
		}
		if got := whole(b); got != beforeB {
			t.Errorf("after %s:\n got %s\nwant %s", after, got, beforeB)
		}
	}
	made := w.ok("POST", "/v1/merge", obj{"rids": []string{a, b}, "text": "Ada of Acme plays chess and drinks tea"})["rid"].(string)
	if m := w.ok("GET", "/v1/memory/"+made, nil); m["importance"] != .7 || m["pin"] != true ||
		!strings.Contains(strings.ToLower(toJSON(t, m["entities"])), "acme") {
		t.Errorf("the merged memory is %v", m)
	}
	if got := recalled(t, w, "Ada chess"); got != "Ada of Acme plays chess and drinks tea" {
		t.Errorf("after the merge, recall returns %s", got)
	}
	if status, got := w.send("POST", "/v1/undo", obj{"rid": a, "revision": 0}); status != http.StatusConflict ||
		!strings.Contains(toJSON(t, got), made) {
		t.Errorf("a revision of a source: %d %v", status, got)
	}
	other.ok("POST", "/v1/undo", obj{"rid": made})
	same("undo of a merge")

	parts := w.ok("POST", "/v1/split", obj{"rid": b, "texts": []string{"Ada plays chess.", "Ada drinks tea."}})["rids"].([]any)
	if got := recalled(t, w, "chess"); got != "Ada plays chess." {
		t.Errorf("after the split, recall returns %s", got)
	}
	w.ok("POST", "/v1/correct", obj{"rid": parts[1], "new_text": "Ada drinks green tea.", "reason": "precise"})
	other.ok("POST", "/v1/undo", obj{"rid": parts[1]}) // the correction alone
	if got := recalled(t, w, "tea"); got != "Ada drinks tea." {
		t.Errorf("after the undo of a correction, recall returns %s", got)
	}
	other.ok("POST", "/v1/undo", obj{"rid": b})
	same("undo of a split")

	w.ok("POST", "/v1/move", obj{"prefix": "/people", "to": "work"})
	if m := other.ok("GET", "/v1/get?key=/people/ada&namespace=work&consistency=linearizable", nil); m["rid"] != a ||
		len(m["claims"].([]any)) == 0 {
		t.Errorf("moved: %v", m)
	}
	if status, _ := w.send("GET", "/v1/get?key=/people/ada", nil); status != http.StatusNotFound {
		t.Errorf("the key is where it was: %d", status)
	}
	other.ok("POST", "/v1/undo", obj{"rid": a})
	if m := w.ok("GET", "/v1/get?key=/people/ada&consistency=linearizable", nil); m["rid"] != a || m["namespace"] != "default" ||
		m["revision"] != 2. {
		t.Errorf("moved back: %v", m)
	}
}

// TestErasingReachesWhatWasCurated checks that erasing a memory for good also removes its text from merges and splits
// of it, and from results that were undone.
func TestErasingReachesWhatWasCurated(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	a := w.ok("POST", "/v1/remember", obj{"text": "Zoe's number is 555"})["rid"].(string)
	b := w.ok("POST", "/v1/remember", obj{"text": "Zoe drinks tea"})["rid"].(string)
	first := w.ok("POST", "/v1/merge", obj{"rids": []string{a, b}, "text": "Zoe drinks tea, her number is 555"})["rid"].(string)
	w.ok("POST", "/v1/undo", obj{"rid": first})
	parts := w.ok("POST", "/v1/split", obj{"rid": a, "texts": []string{"Zoe has a number", "555 is the number"}})["rids"].([]any)
	ask := obj{"rids": []string{a}}
	ask["confirm"] = w.ok("POST", "/v1/erase", ask)["confirm"]
	if got := w.ok("POST", "/v1/erase", ask); len(got["memories"].([]any)) != 4 {
		t.Errorf("erased: %v", got)
	}
	for _, rid := range []any{a, first, parts[0], parts[1]} {
		if status, got := w.send("GET", "/v1/memory/"+rid.(string), nil); status != http.StatusNotFound {
			t.Errorf("%s is still there: %v", rid, got)
		}
	}
}

// TestErasingReachesWhatIsMadeOfWhatIsMade checks that erasing a source also removes the parts of a merge, and
// memories derived from a forgotten one. The other source becomes active again, and the other part of the source
// stays.
func TestErasingReachesWhatIsMadeOfWhatIsMade(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	remember := func(text string) string {
		t.Helper()
		return w.ok("POST", "/v1/remember", obj{"text": text})["rid"].(string)
	}
	erase := func(rid string) {
		t.Helper()
		ask := obj{"rids": []string{rid}}
		ask["confirm"] = w.ok("POST", "/v1/erase", ask)["confirm"]
		w.ok("POST", "/v1/erase", ask)
	}
	is := func(rid any, want string) {
		t.Helper()
		status, m := w.send("GET", "/v1/memory/"+rid.(string), nil)
		got := fmt.Sprint(m["consolidation_status"])
		if status == http.StatusNotFound {
			got = "gone"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", rid, got, want)
		}
	}
	number, tea := remember("Zoe's number is 555"), remember("Zoe drinks tea")
	both := w.ok("POST", "/v1/merge", obj{"rids": []string{number, tea}, "text": "Zoe drinks tea, her number is 555"})["rid"]
	parts := w.ok("POST", "/v1/split", obj{"rid": both, "texts": []string{"Zoe has 555", "Zoe has tea"}})["rids"].([]any)
	erase(number)
	for _, rid := range append(parts, number, both) {
		is(rid, "gone")
	}
	is(tea, "active")

	secret := remember("the code is 1234 and the door is green")
	parts = w.ok("POST", "/v1/split", obj{"rid": secret, "texts": []string{"the code is 1234", "the door is green"}})["rids"].([]any)
	w.ok("POST", "/v1/forget", obj{"rid": secret})
	erase(parts[0].(string))
	is(secret, "gone")
	is(parts[1], "active")

	secret = remember("the key lies below the mat")
	parts = w.ok("POST", "/v1/split", obj{"rid": secret, "texts": []string{"there is a key", "it lies below the mat"}})["rids"].([]any)
	w.ok("POST", "/v1/forget", obj{"rid": secret})
	erase(secret)
	for _, rid := range parts {
		is(rid, "gone")
	}
}

// TestBoundTokensCurateWithin checks that a token bound to namespaces cannot merge, move or undo memories outside of
// them.
func TestBoundTokensCurateWithin(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	bound := w.with(w.createToken(obj{"namespaces": []string{"agents/one"}}))
	mine := bound.ok("POST", "/v1/remember", obj{"text": "mine"})["rid"].(string)
	theirs := w.ok("POST", "/v1/put", obj{"text": "theirs", "key": "/k"})["rid"].(string)
	for name, x := range map[string]struct {
		path   string
		body   obj
		status int
	}{
		"merge with another's":   {"/v1/merge", obj{"rids": []string{mine, theirs}, "text": "x"}, 404},
		"split another's":        {"/v1/split", obj{"rid": theirs, "texts": []string{"x", "y"}}, 404},
		"move another's here":    {"/v1/move", obj{"rid": theirs, "to": "agents/one"}, 404},
		"move another's key":     {"/v1/move", obj{"prefix": "/k", "namespace": "default", "to": "agents/one"}, 403},
		"move mine to another's": {"/v1/move", obj{"rid": mine, "to": "default"}, 403},
	} {
		if status, got := bound.send("POST", x.path, x.body); status != x.status {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	w.ok("POST", "/v1/move", obj{"rid": theirs, "to": "agents/one/sub"})
	if status, got := bound.send("POST", "/v1/undo", obj{"rid": theirs}); status != 403 {
		t.Errorf("undo of a move from another's: %d %v", status, got)
	}
	if got := bound.ok("POST", "/v1/move", obj{"prefix": "/k", "to": "agents/one"}); got["moved"] != 0. {
		t.Errorf("without a namespace, the token's first is meant: %v", got)
	}
	if got := bound.ok("POST", "/v1/move", obj{"prefix": "/k", "namespace": "agents/one/sub", "to": "agents/one"}); got["moved"] != 1. {
		t.Errorf("within: %v", got)
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
