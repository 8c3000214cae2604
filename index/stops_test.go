package index_test

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
)

// TestStopWordsAlone: a question without any other word finds the texts that have its words alongside others.
func TestStopWordsAlone(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for rid, text := range map[string]string{
		"nurse":    "I am a nurse at the hospital",
		"knocked":  "Somebody knocked, and it was the postman who asked",
		"twins":    "Ada and Bob have twins, they are called Mia and Leo",
		"standup":  "Standup at nine",
		"question": "who are you",
		"plain":    "Payments moved to Stripe",
	} {
		l.add(1, remember(rid, text))
	}
	other := remember("other", "It is who it is")
	other.Namespace = "elsewhere"
	l.add(1, other)
	r.apply(l.records, 3)
	ask := func(when string) {
		t.Helper()
		for question, want := range map[string][]string{
			"who is it":      {"knocked"},
			"what are they?": {"twins"},
			"who am I":       {"nurse"},
			"who are you":    {"question"},
			"why":            nil,
		} {
			hits := r.ask(index.Query{Text: question, K: 10, Filter: index.Filter{Namespace: "default"}})
			var got []string
			for _, h := range hits {
				got = append(got, h.Memory.RID)
			}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || want == nil && len(got) > 0 {
				t.Errorf("%s: %q: got %v, want %v first", when, question, got, want)
			}
			if slices.Contains(got, "plain") || slices.Contains(got, "other") {
				t.Errorf("%s: %q: got %v", when, question, got)
			}
		}
	}
	ask("live")
	r.settle()
	r.reopen()
	ask("reopened")
}

// TestOffsite: a word that no text has is not replaced by one that only looks a little like it.
func TestOffsite(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("office", "The Oslo office has twelve desks"), remember("lunch", "Lunch is at noon"))
	r.apply(l.records, 3)
	if got := r.ask(index.Query{Text: "when is the offsite", K: 10}); len(got) > 0 {
		t.Errorf("an unknown offsite is answered by %q", got[0].Memory.Text)
	}
	l.add(1, remember("offsite", "The offsite is in Bergen on 4 May"))
	r.apply(l.records[len(l.records)-1:], 1)
	if got := r.ask(index.Query{Text: "when is the offsite", K: 10}); len(got) != 1 || got[0].Memory.RID != "offsite" {
		t.Errorf("got %d hits, want the offsite alone", len(got))
	}
}
