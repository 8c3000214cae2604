package node_test

import (
	"slices"
	"strings"
	"testing"
)

// TestRecallLists: a recall for everything, or with filters alone, lists the newest memories that pass them; one for
// what an agent knows of itself has all of it, what matches first.
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
