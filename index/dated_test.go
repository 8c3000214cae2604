package index_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestRelativeDates checks which memories answer questions about relative dates on Sunday, 1 March 2026.
func TestRelativeDates(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for _, m := range []struct{ rid, day, text string }{
		{"old", "2025-02-10", "The schedule of the standup changed"},
		{"older", "2024-02-20", "We changed the schedule of the standup last week"},
		{"stripe", "2026-02-18", "Payments moved to Stripe"},
		{"key", "2026-02-20", "The deploy key changed"},
		{"omar", "2026-02-23", "Yesterday Omar joined the team"},
		{"dentist", "2026-02-28", "The dentist is at ten"},
		{"march", "2025-03-12", "The rent went up"},
	} {
		op := remember(m.rid, m.text)
		day, err := time.Parse(time.DateOnly, m.day)
		must(t, err)
		op.Created = oplog.At(day.Add(9 * time.Hour))
		l.add(1, op)
	}
	for i := range 40 {
		op := remember(fmt.Sprint("fill", i), fmt.Sprintf("The garden has %d tulips", i))
		op.Created = oplog.At(now.AddDate(0, -7, i))
		l.add(1, op)
	}
	r.apply(l.records, 10)
	for _, c := range []struct {
		question string
		want     []string // first hits
		why      string   // of the first hit
		all      bool     // there are no other hits
	}{
		{"what changed last week", []string{"key", "stripe", "omar", "old", "older"}, "from last week", true},
		{"what changed last week?", []string{"key"}, "from last week", false},
		{"what did we do last week", []string{"key", "stripe", "omar"}, "from last week", true},
		{"what happened yesterday", []string{"dentist"}, "from yesterday", true},
		{"yesterday", []string{"dentist"}, "from yesterday", true},
		{"what happened 9 days ago", []string{"key"}, "from 9 days ago", true},
		{"what changed since Monday", []string{"dentist", "omar"}, "since Monday", true}, // an earlier memory cannot say
		{"what changed since 2026-02-19", []string{"key"}, "since 2026-02-19", true},
		{"who joined since last week", []string{"omar", "key"}, "since last week", false},
		{"which schedule changed last week", []string{"key", "old", "older", "stripe", "omar"}, "from last week", true}, // no filter
		{"what happened in February 2026", []string{"key", "stripe", "dentist", "omar"}, "from February 2026", true},
		{"what changed on 20 February 2026", []string{"key"}, "from 20 February 2026", false},
		{"what happened between 19 and 23 February 2026", []string{"key", "omar"}, "between 19 and 23 February 2026", false},
		{"what changed from February to April 2025", []string{"old", "march"}, "from February to April 2025", false},
		{"the rent in March", []string{"march"}, "date_match", false},                            // of another year
		{"which bill did Noor forget in March 2025", []string{"march"}, "from March 2025", true}, // none of its words is there
		{"the rent in March 2025", []string{"march"}, "from March 2025", false},
	} {
		hits := r.ask(index.Query{Text: c.question, K: 10})
		var got []string
		for _, h := range hits {
			got = append(got, h.Memory.RID)
		}
		if n := min(len(got), len(c.want)); !slices.Equal(got[:n], c.want) || c.all && len(got) > n {
			t.Errorf("%q: got %v, want %v", c.question, got, c.want)
			continue
		}
		if len(hits) > 0 && !slices.Contains(hits[0].Why, c.why) {
			t.Errorf("%q: the first is there for %q, want %q among it", c.question, hits[0].Why, c.why)
		}
	}
	if got := r.ask(index.Query{Text: "which bill did Noor forget in March 2025", K: 10}); slices.Contains(got[0].Why, "keyword_match") {
		t.Errorf("a row without a word of the question is there for %q", got[0].Why)
	}
	if got := r.ask(index.Query{Text: "what changed last week", K: 10, Without: []string{"date"}}); got[0].Memory.RID != "older" {
		t.Errorf("without dates %q is first", got[0].Memory.Text)
	}
	if got := r.ask(index.Query{Text: "what changed last week", K: 10, Now: now.AddDate(-1, 0, -10)}); got[0].Memory.RID != "old" {
		t.Errorf("asked a year before, %q is first", got[0].Memory.Text)
	}
}

// TestAMonthOfManyRows: after an import of many rows on one day, that day does not count for a row.
func TestAMonthOfManyRows(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	day := time.Date(2020, 5, 5, 9, 0, 0, 0, time.UTC)
	add := func(n int) {
		var ops []oplog.Op
		for range n {
			op := remember(oplog.NewID(), "The garden has tulips")
			op.Created = oplog.At(day)
			ops = append(ops, op)
		}
		l.add(1, ops...)
		r.apply(l.records, 10)
	}
	add(100)
	question := index.Query{Text: "which bill did Noor forget on 5 May 2020", K: 10}
	if hits := r.ask(question); len(hits) != 10 {
		t.Errorf("of 100 rows of the day %d are found", len(hits))
	}
	add(4_000)
	if hits := r.ask(question); len(hits) != 0 {
		t.Errorf("of 4,100 rows of the day %d are found", len(hits))
	}
}

// TestATimeOfManyRows: a question about a time only finds the newest rows of that time, however many there are.
func TestATimeOfManyRows(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for part := range 5 {
		var ops []oplog.Op
		for i := range 1_000 {
			op := remember(fmt.Sprintf("%d-%03d", part, i), "The garden has tulips")
			op.Created = oplog.At(now.Add(-time.Duration(5_000-part*1_000-i) * time.Second))
			ops = append(ops, op)
		}
		l.add(1, ops...)
	}
	r.apply(l.records, 10)
	for _, question := range []string{
		"what did we do today", "what happened today?", "today", now.Format("what did we do in January 2006"), "what is new since yesterday",
	} {
		if hits := r.ask(index.Query{Text: question, K: 10}); len(hits) != 10 || hits[0].Memory.RID != "4-999" {
			t.Errorf("%s: %d are found, %+v", question, len(hits), hits[:min(len(hits), 1)])
		}
	}
	if hits := r.ask(index.Query{Text: "which bill did Noor forget today", K: 10}); len(hits) != 0 {
		t.Errorf("%d rows of the time alone answer a question about more", len(hits))
	}
}
