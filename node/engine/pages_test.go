package engine_test

import (
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// TestAStreamedAnswerStaysInItsNamespaces: a memory that is moved, while the answer is sent, to a namespace that the
// caller may not read or did not ask for is left out.
func TestAStreamedAnswerStaysInItsNamespaces(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	bound := owner
	bound.Spaces = oplog.Spaces{"agents/billing"}
	answers := map[string]*api.Recalled{}
	for _, text := range []string{"the violin is sold", "the violin is in the attic"} {
		_, err := api.Remember.Do(t.Context(), n.Host(), owner,
			&api.RememberRequest{Draft: api.Draft{Text: text, Namespace: "agents/billing"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	for name, c := range map[string]api.Caller{"rights": bound, "filter": owner} {
		q := &api.RecallRequest{}
		q.Text, q.K, q.Bare, q.Quiet = "violin", 10, true, true
		if name == "filter" {
			q.Namespace = "agents/billing"
		}
		if answers[name], err = api.Recall.Do(t.Context(), n.Host(), c, q); err != nil || answers[name].Total != 2 {
			t.Fatal(name, answers[name], err)
		}
	}
	list, err := api.Recall.Do(t.Context(), n.Host(), owner, &api.RecallRequest{Question: api.Question{Text: "attic", K: 1}})
	if err != nil || len(list.Results) != 1 {
		t.Fatal(list, err)
	}
	rid, to, text := list.Results[0].RID, "default", "the violin is worth a fortune"
	if err := n.Service().Propose(t.Context(), owner,
		&oplog.Correct{RID: rid, Text: &text, Place: oplog.Place{Namespace: &to}, Reason: "moved", At: 1}); err != nil {
		t.Fatal(err)
	}
	for name, a := range answers {
		rows := 0
		for page, err := range a.Pages {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				if rows++; r.RID == rid {
					t.Errorf("%s: the answer has %q", name, r.Text)
				}
			}
		}
		if rows != 1 {
			t.Errorf("%s: %d rows, want 1", name, rows)
		}
	}
}

// TestAStreamedAnswerPassesItsFilter: while a filtered answer is sent, memories get other attributes or become
// unsearchable. The rest of the answer leaves them out.
func TestAStreamedAnswerPassesItsFilter(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	kept := with(t, n, c, "mend the violin", `{"state":"open"}`)
	done := with(t, n, c, "mend the violin case", `{"state":"open"}`)
	hidden := with(t, n, c, "mend the violin bow", `{"state":"open"}`)
	q := &api.RecallRequest{Question: api.Question{Text: "violin", K: 10, Filter: field.Map(`{"state":"open"}`)}}
	q.Bare = true
	a, err := api.Recall.Do(t.Context(), n.Host(), c, q)
	if err != nil || a.Total != 3 {
		t.Fatal(a, err)
	}
	if err := replace(t, n, c, done, `{"state":"done"}`); err != nil {
		t.Fatal(err)
	}
	if err := n.Service().Propose(t.Context(), c,
		&oplog.Correct{RID: hidden, Searchable: new(false), Reason: "hide it", At: 1}); err != nil {
		t.Fatal(err)
	}
	for page, err := range a.Pages {
		if err != nil || len(page) != 1 || page[0].RID != kept {
			t.Errorf("%+v, %v; want %s alone", page, err, kept)
		}
	}
}
