package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/engine/thinking"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/node/mind/mindtest"
	"github.com/cairndb/cairn/wire/field"
)

// largeService starts a service whose database has more memories than a round reads, without duplicates.
func largeService(t *testing.T, rows int) (*engine.Service, api.Caller) {
	t.Helper()
	n, c := startSingle(t, engine.Background{ThinkRows: rows / 4})
	s := n.Service()
	drafts := []api.Draft{{RID: "lisbon", Text: "Alice Chen lives in Lisbon."},
		{RID: "report", Text: "Bob Moreau asked for the quarterly report on Thursday."},
		{RID: "rome", Text: "Dora Silva lives in Rome."}, {RID: "case", Text: "Case 17 is waiting."}}
	for i := range rows {
		drafts = append(drafts, api.Draft{Text: fmt.Sprintf("Ticket %d about exports was closed by team %d.", i, i%7)})
	}
	for i := range drafts {
		drafts[i].Type = "episodic" // a statement would be marked as it is stored
	}
	if err := s.Remember(t.Context(), c, drafts...); err != nil {
		t.Fatal(err)
	}
	indexed(t, s)
	return s, c
}

func indexed(t *testing.T, s *engine.Service) {
	t.Helper()
	if err := s.WaitIndexed(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// think runs one round.
func think(t *testing.T, s *engine.Service, c api.Caller, r api.ThinkRequest) *api.Thought {
	t.Helper()
	r.Consolidate, r.Conflicts, r.Progress = true, true, true
	a, err := api.Think.Do(t.Context(), s, c, &r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// thinkAll runs rounds until no memory is unread, and returns their number and what they found.
func thinkAll(t *testing.T, s *engine.Service, c api.Caller, r api.ThinkRequest) (rounds int, conflicts, merged uint32) {
	t.Helper()
	for {
		a := think(t, s, c, r)
		rounds, conflicts, merged = rounds+1, conflicts+a.Conflicts, merged+a.Merged
		if *a.Remaining == 0 {
			return rounds, conflicts, merged
		}
		if rounds == 500 {
			t.Fatalf("after %d rounds %d memories are left", rounds, *a.Remaining)
		}
	}
}

// TestARoundReadsWhatIsNew: in a database with more memories than a round reads, a round compares new and corrected
// memories with old ones, without reading all of them.
func TestARoundReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	const rows = 400
	s, c := largeService(t, rows)
	one := api.ThinkRequest{Limit: 1}
	if rounds, conflicts, merged := thinkAll(t, s, c, one); rounds < 2 || conflicts != 0 || merged != 0 {
		t.Errorf("%d rounds found %d conflicts and merged %d", rounds, conflicts, merged)
	}
	news := []api.Draft{{Text: "Alice Chen lives in Berlin.", Type: "episodic"},
		{Text: "Note that Bob Moreau asked for the quarterly report on Thursday.", Type: "episodic"}}
	if err := s.Remember(t.Context(), c, news...); err != nil {
		t.Fatal(err)
	}
	indexed(t, s)
	if a := think(t, s, c, one); a.Conflicts != 1 || a.Merged != 1 || *a.Read > rows/2 || *a.Remaining != 0 {
		t.Errorf("of what is new: %+v, read %d, left %d", a, *a.Read, *a.Remaining)
	}
	text := "Dora Silva lives in Paris."
	if _, err := api.Correct.Do(t.Context(), s, c, &api.CorrectRequest{RID: "case", Text: &text, Reason: "it is about Dora"}); err != nil {
		t.Fatal(err)
	}
	indexed(t, s)
	if a := think(t, s, c, one); a.Conflicts != 1 || *a.Remaining != 0 {
		t.Errorf("of what was corrected: %+v, left %d", a, *a.Remaining)
	}
	if a := think(t, s, c, one); a.Conflicts != 0 || a.Merged != 0 || *a.Remaining != 0 {
		t.Errorf("again: %+v, left %d", a, *a.Remaining)
	}
}

// TestShortRoundsFindWhatALongOneFinds: rounds that may take a millisecond read a few memories each, and continue.
func TestShortRoundsFindWhatALongOneFinds(t *testing.T) {
	t.Parallel()
	corpus := mindtest.New(11)
	type found struct {
		rounds            int
		conflicts, merged uint32
		pairs             [][2]string
	}
	find := func(most int, r api.ThinkRequest) (f found) {
		n, c := startSingle(t, engine.Background{ThinkRows: most})
		s := n.Service()
		var drafts []api.Draft
		for _, x := range corpus.Rows {
			drafts = append(drafts, api.Draft{RID: x.RID, Text: x.Text, Type: x.Type, Created: field.Date{Time: x.Created.Time()}})
		}
		if err := s.Remember(t.Context(), c, drafts...); err != nil {
			t.Fatal(err)
		}
		indexed(t, s)
		f.rounds, f.conflicts, f.merged = thinkAll(t, s, c, r)
		list, err := api.Conflicts.Do(t.Context(), s, c, &api.ConflictsRequest{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Conflicts {
			f.pairs = append(f.pairs, mindtest.Pair(x.A, x.B))
		}
		slices.SortFunc(f.pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		return f
	}
	long, short := find(10_000, api.ThinkRequest{Limit: len(corpus.Rows)}), find(10, api.ThinkRequest{Limit: 10, MaxMillis: 1})
	if long.rounds != 1 || short.rounds < 3 || len(long.pairs) == 0 || long.merged == 0 {
		t.Errorf("%d and %d rounds, %d conflicts, %d merged", long.rounds, short.rounds, len(long.pairs), long.merged)
	}
	if !slices.Equal(long.pairs, short.pairs) || long.merged != short.merged {
		t.Errorf("one long round finds %v and merges %d, short ones %v and %d", long.pairs, long.merged, short.pairs, short.merged)
	}
}

// TestARoundOfANamespace: a round of one namespace finds what is in it, also if it has more memories than a round
// reads, and changes nothing in other namespaces or for the whole database.
func TestARoundOfANamespace(t *testing.T) {
	t.Parallel()
	for _, most := range []int{10_000, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			n, c := startSingle(t, engine.Background{ThinkRows: most})
			s := n.Service()
			var drafts []api.Draft
			for _, ns := range []string{"one", "two"} {
				for _, text := range []string{"Alice lives in Lisbon.", "Alice lives in Berlin.",
					"Bob asked for the quarterly report on Thursday.", "Note that Bob asked for the quarterly report on Thursday."} {
					drafts = append(drafts, api.Draft{Text: text, Namespace: ns, Type: "episodic"})
				}
				for i := range 40 {
					drafts = append(drafts, api.Draft{Text: fmt.Sprintf("Ticket %d is closed.", i), Namespace: ns, Type: "episodic"})
				}
			}
			if err := s.Remember(t.Context(), c, drafts...); err != nil {
				t.Fatal(err)
			}
			indexed(t, s)
			stats := func(ns string) *api.Counters {
				a, err := api.Stats.Do(context.Background(), s, c, &api.StatsRequest{Namespace: ns})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			before := *stats("two")
			within := c
			within.Spaces = []string{"one"}
			r := api.ThinkRequest{Namespace: "one", Limit: 100, Personality: true}
			if _, conflicts, merged := thinkAll(t, s, within, r); conflicts != 1 || merged != 1 {
				t.Errorf("%d conflicts, %d merged", conflicts, merged)
			}
			if a := think(t, s, c, r); a.Personality || a.Conflicts != 0 || a.Merged != 0 || *a.Remaining != 0 || *a.Read > 44 {
				t.Errorf("again: %+v, read %d", a, *a.Read)
			}
			if after := *stats("two"); after.Active != before.Active || after.Conflicts != 0 || after.Triggers != before.Triggers {
				t.Errorf("the other had %+v and has %+v", before, after)
			}
			if _, conflicts, merged := thinkAll(t, s, c, api.ThinkRequest{Limit: 100}); conflicts != 1 || merged != 1 {
				t.Errorf("the whole database afterwards: %d conflicts, %d merged", conflicts, merged)
			}
			if a := think(t, s, c, api.ThinkRequest{Namespace: "nowhere", Limit: 100}); *a.Read != 0 || *a.Remaining != 0 ||
				len(a.Triggers) != 0 {
				t.Errorf("of a namespace without memories: %+v", a)
			}
		})
	}
}

// TestMoreContradictionsThanARoundReports: the next round reads the same memories again, and reports the remaining
// contradictions.
func TestMoreContradictionsThanARoundReports(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	s := n.Service()
	const people = mind.MaxConflicts + 50
	var drafts []api.Draft
	for i := range people {
		name := fmt.Sprintf("%cnna %cberg", 'A'+i/26, 'A'+i%26)
		for _, city := range []string{"Lisbon", "Oslo"} {
			drafts = append(drafts, api.Draft{Text: name + " lives in " + city + ".", Type: "episodic"})
		}
	}
	if err := s.Remember(t.Context(), c, drafts...); err != nil {
		t.Fatal(err)
	}
	indexed(t, s)
	for _, want := range []struct{ conflicts, left int }{{mind.MaxConflicts, len(drafts)}, {people - mind.MaxConflicts, 0}} {
		if a := think(t, s, c, api.ThinkRequest{}); int(a.Conflicts) != want.conflicts || *a.Remaining != want.left {
			t.Errorf("%d conflicts and %d left, want %+v", a.Conflicts, *a.Remaining, want)
		}
	}
}

// TestTheLeaderReadsAllThatIsNew: a background round of the leader continues until no memory is unread, and applies
// the policies to memories of any age.
func TestTheLeaderReadsAllThatIsNew(t *testing.T) {
	t.Parallel()
	s, c := largeService(t, 200)
	old := time.Now().Add(-48 * time.Hour)
	if err := s.Remember(t.Context(), c,
		api.Draft{RID: "scratch", Text: "left over", Tier: thinking.TierWorking, Created: field.Date{Time: old}}); err != nil {
		t.Fatal(err)
	}
	ttl := (24 * time.Hour).Seconds()
	if _, err := api.SetSettings.Do(t.Context(), s, c, &api.SetSettingsRequest{WorkingTTL: &ttl}); err != nil {
		t.Fatal(err)
	}
	if err := s.ThinkAlone(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if a := think(t, s, c, api.ThinkRequest{Limit: 1}); *a.Remaining != 0 || *a.Read > 200 {
		t.Errorf("%d read, %d left", *a.Read, *a.Remaining)
	}
	m, err := api.Get.Do(t.Context(), s, c, &api.GetRequest{RID: "scratch"})
	if err != nil || m.Status != "tombstoned" {
		t.Errorf("%+v, %v", m, err)
	}
}
