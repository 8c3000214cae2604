package node_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestRecallLists checks that a recall for everything, or with only filters, lists the newest memories that pass, and
// that one for what an agent knows of itself has all of it, best matches first.
func TestRecallLists(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, m := range []obj{
		{"text": "I keep answers short.", "memory_type": "self_model"},
		{"text": "I ask before I delete anything.", "memory_type": "self_model"},
		{"text": "Deploys run on Friday.", "namespace": "work"},
		{"text": "Everything was moved to Oslo.", "namespace": "work"},
	} {
		w.ok("POST", "/v1/remember", m)
	}
	texts := func(q obj) (all []string) {
		for _, row := range w.ok("POST", "/v1/recall", q)["results"].([]any) {
			word, _, _ := strings.Cut(row.(obj)["text"].(string), " ")
			all = append(all, word)
		}
		return all
	}
	for _, c := range []struct {
		asked obj
		want  []string
	}{
		{obj{"query": "*"}, []string{"Everything", "Deploys", "I", "I"}},
		{obj{"query": " Everything ", "namespace": "work"}, []string{"Everything", "Deploys"}},
		{obj{"query": "", "memory_type": "self_model"}, []string{"I", "I"}},
		{obj{"query": "*", "namespace": "work", "top_k": 1}, []string{"Everything"}},
		{obj{"query": "everything in Oslo"}, []string{"Everything"}},
	} {
		if got := texts(c.asked); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.asked, got, c.want)
		}
	}
	rows := w.ok("POST", "/v1/recall", obj{"query": "may I delete the branch?", "memory_type": "self_model"})["results"].([]any)
	if len(rows) != 2 || !strings.Contains(rows[0].(obj)["text"].(string), "delete") || rows[1].(obj)["score"] != 0. {
		t.Errorf("of itself: %v", rows)
	}
}

// TestAListSaysWhereItGoesOn checks that a page has fewer rows than a request may ask for, and a cursor as long as
// there are more rows.
func TestAListSaysWhereItGoesOn(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	const rows = 401
	batch := make([]obj, rows)
	for i := range batch {
		batch[i] = obj{"text": fmt.Sprint("tea ", i), "importance": float64(i) / rows}
	}
	session := w.ok("POST", "/v1/sessions", obj{"client_id": "c"})["session_id"].(string)
	w.ok("POST", "/v1/remember/batch", obj{"memories": batch})
	for path, key := range map[string]string{
		"/v1/memories?limit=900": "items", "/v1/memories?limit=900&sort=importance": "items",
		"/v1/sessions/" + session + "?limit=200": "memories",
	} {
		seen, pages := map[any]bool{}, []int{}
		for next := path; next != ""; {
			got := w.ok("GET", next, nil)
			for _, m := range objectsIn(got, key) {
				seen[m["rid"]] = true
			}
			pages = append(pages, len(objectsIn(got, key)))
			if next = ""; got["next_offset"] != nil {
				next = fmt.Sprint(path, "&offset=", got["next_offset"])
			}
		}
		if fmt.Sprint(pages) != "[200 200 1]" || len(seen) != rows {
			t.Errorf("%s: pages of %v rows, %d memories", path, pages, len(seen))
		}
	}
	seen, last := map[any]bool{}, ""
	for next := "/v1/memories?limit=150"; next != ""; { // rows of a batch have the same time
		got := w.ok("GET", next, nil)
		for _, m := range objectsIn(got, "items") {
			seen[m["rid"]] = true
			last = m["rid"].(string)
		}
		if next = ""; got["cursor"] != nil {
			w.ok("POST", "/v1/remember", obj{"text": "newer than the page"})
			next = fmt.Sprint("/v1/memories?limit=150&cursor=", got["cursor"])
		}
	}
	if len(seen) != rows {
		t.Errorf("%d memories by cursors, the last %s", len(seen), last)
	}
	for path, want := range map[string]string{
		"/v1/memories?cursor=" + last:             "cursor",
		"/v1/memories?sort=importance&cursor=1.1": "cursor",
		"/v1/chronology?entity=tea&cursor=1.1":    "cursor",
		"/v1/entities?sort=mentions&after=tea":    "after",
	} {
		if code, got := w.send("GET", path, nil); code != 400 || !strings.Contains(fmt.Sprint(got), want+": ") {
			t.Errorf("%s: %d %v", path, code, got)
		}
	}
}

// TestPagesOfANameInSeveralCases checks that pages which are full of what is named as the search says lead to the
// others: each name is returned once.
func TestPagesOfANameInSeveralCases(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	names := []string{"ALICE", "Aalice", "Alice", "Alice Smith", "alice"}
	for _, name := range names {
		w.ok("POST", "/v1/relate", obj{"entity": name, "target": "Bob", "relationship": "knows"})
	}
	for limit := 1; limit <= len(names); limit++ {
		var got []string
		for after, pages := "", 0; pages <= len(names); pages++ {
			page := w.ok("GET", fmt.Sprintf("/v1/entities?search=alice&limit=%d&after=%s", limit, url.QueryEscape(after)), nil)
			for _, e := range page["entities"].([]any) {
				got = append(got, e.(obj)["name"].(string))
			}
			next, more := page["next"].(string)
			if after = next; !more {
				break
			}
		}
		if first := got[0]; !strings.EqualFold(first, "alice") {
			t.Errorf("by %d: %s is the first", limit, first)
		}
		if slices.Sort(got); !slices.Equal(got, names) {
			t.Errorf("by %d: %v, want %v", limit, got, names)
		}
	}
}
