package node_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/mind/mindtest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

func (c *cluster) local(i int) (*engine.Service, api.Caller) {
	c.t.Helper()
	s := c.nodes[i].Service()
	caller, err := c.nodes[i].Access().Local("default")
	if err != nil {
		c.t.Fatal(err)
	}
	caller.Forward = false
	return s, caller
}

// store stores a corpus under its own ids.
func store(t testing.TB, s *engine.Service, c api.Caller, corpus *mindtest.Corpus) {
	t.Helper()
	var drafts []api.Draft
	for _, r := range corpus.Rows {
		drafts = append(drafts,
			api.Draft{RID: r.RID, Text: r.Text, Type: r.Type, Importance: r.Importance, HalfLife: 168, Namespace: r.Namespace})
	}
	if _, err := remember(t.Context(), s, c, "", drafts...); err != nil {
		t.Fatal(err)
	}
}

// TestThinkFindsPlantedTruth runs rounds on three real nodes and checks the counts that Apply accepted, and that all
// nodes are equal.
func TestThinkFindsPlantedTruth(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	lead := c.leader()
	s, caller := c.local(lead)
	corpus := mindtest.New(42)
	store(t, s, caller, corpus)
	for i := range c.nodes {
		if i == lead {
			continue
		}
		f, fc := c.local(i)
		if _, err := api.Think.Do(t.Context(), f, fc,
			&api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true}}); !isKind(err, oplog.NotLeader) {
			t.Errorf("a follower was asked to think: %v", err)
		}
	}
	a, err := api.Think.Do(t.Context(), s, caller,
		&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true, Patterns: true}, Personality: true,
			Limit: len(corpus.Rows)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := api.Conflicts.Do(t.Context(), s, caller, &api.ConflictsRequest{Status: "open", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	rows := found.Conflicts
	right := 0
	for _, r := range rows {
		if corpus.Conflicts[mindtest.Pair(r.A, r.B)] {
			right++
		}
	}
	if int(a.Conflicts) != len(rows) || 10*right < 8*len(corpus.Conflicts) || 10*right < 7*len(rows) {
		t.Errorf("%d conflicts reported, %d listed, %d of %d right", a.Conflicts, len(rows), right, len(corpus.Conflicts))
	}
	merged := 0
	for p := range corpus.Duplicates {
		x, y := memory(t, s, caller, p[0]), memory(t, s, caller, p[1])
		if x.Status == oplog.Consolidated.String() && y.Into != nil && *x.Into == *y.Into {
			merged++
		}
	}
	if 10*merged < 8*len(corpus.Duplicates) || int(a.Merged) < merged {
		t.Errorf("%d of %d duplicates merged, %d reported", merged, len(corpus.Duplicates), a.Merged)
	}
	for rid := range corpus.Innocent {
		if m := memory(t, s, caller, rid); m.Status != oplog.Active.String() {
			t.Errorf("look-alike %q is %s", m.Text, m.Status)
		}
	}
	again, err := api.Think.Do(t.Context(), s, caller,
		&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: len(corpus.Rows)})
	if err != nil {
		t.Fatal(err)
	}
	if again.Conflicts != 0 || again.Merged != 0 {
		t.Errorf("thinking again found %d conflicts and merged %d", again.Conflicts, again.Merged)
	}
	c.agree()
	for i := range c.nodes {
		f, fc := c.local(i)
		theirs, err := api.Conflicts.Do(t.Context(), f, fc, &api.ConflictsRequest{Status: "open", Limit: 1000})
		if err != nil || !reflect.DeepEqual(theirs.Conflicts, rows) {
			t.Errorf("node %d lists other conflicts (%v)", i+1, err)
		}
	}
}

func memory(t testing.TB, s *engine.Service, c api.Caller, rid string) *api.Memory {
	t.Helper()
	m, err := api.Get.Do(t.Context(), s, c, &api.GetRequest{RID: rid})
	if err != nil {
		t.Fatalf("%s: %v", rid, err)
	}
	return m
}

func isKind(err error, k oplog.Kind) bool {
	var e *oplog.Error
	return errors.As(err, &e) && e.Kind == k
}

// atOnce stores texts in one request, a second apart, of which none supersedes another.
func (c *cluster) atOnce(i int, texts ...string) []string {
	c.t.Helper()
	var all wire.RememberBatch
	for n, text := range texts {
		m := wire.NewRemember(text)
		m.CreatedAt = float64(1_700_000_000 + n)
		all.Memories = append(all.Memories, m)
	}
	rids, err := c.dial(i).RememberBatch(c.t.Context(), all)
	if err != nil {
		c.t.Fatal(err)
	}
	return rids
}

// TestSettledConflictsAreNotTold checks that recall reports an open conflict until a side is corrected or forgotten.
func TestSettledConflictsAreNotTold(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	ctx := context.Background()
	rids, same := map[string]string{}, "Dora lives in Paris, really."
	for i, rid := range c.atOnce(0, "Dora lives in Rome.", "Erik lives in Rome.", "Dora lives in Paris.", "Erik lives in Paris.") {
		rids[[]string{"Dora lives in Rome.", "Erik lives in Rome.", "", ""}[i]] = rid
	}
	if r, err := cl.Think(ctx, wire.Think{RunConflictScan: true}); err != nil || r.ConflictsFound != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	told := func(question string) (n int) {
		rows, _, err := cl.Recall(ctx, wire.Recall{Query: question, TopK: 10, MinScore: new(float64)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if slices.ContainsFunc(r.WhyRetrieved, func(why string) bool { return strings.HasPrefix(why, "contradicts ") }) {
				n++
			}
		}
		return n
	}
	if n := told("who lives in Rome or Paris"); n != 4 {
		t.Errorf("%d rows are told to contradict another, want 4", n)
	}
	if _, err := cl.Correct(ctx, client.Correction{RID: rids["Dora lives in Rome."], Text: &same, Reason: "she said so"}); err != nil {
		t.Fatal(err)
	}
	if n := told("who lives in Rome or Paris"); n != 2 {
		t.Errorf("one is corrected: %d rows are told to contradict another, want 2", n)
	}
	if _, err := cl.Forget(ctx, rids["Erik lives in Rome."]); err != nil {
		t.Fatal(err)
	}
	if n := told("who lives in Rome or Paris"); n != 0 {
		t.Errorf("the other is forgotten: %d rows are told to contradict another", n)
	}
}

// TestConflictsOverTheWire finds, lists and resolves conflicts in every way, through the client.
func TestConflictsOverTheWire(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	ctx := context.Background()
	c.atOnce(0, "Alice lives in Lisbon.", "Alice lives in Berlin.", "Bob works at Acme.", "Bob works at Globex.",
		"The standup is at 9am.", "The standup is at 10am.",
		"Carol is allergic to nuts.", "Carol is not allergic to nuts.")
	r, err := cl.Think(ctx, wire.Think{RunConflictScan: true})
	if err != nil || r.ConflictsFound != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	told, _, err := cl.Recall(ctx, wire.Recall{Query: "who lives in Lisbon", TopK: 3})
	if err != nil || len(told) < 2 || told[0].Text != "Alice lives in Berlin." || told[1].Text != "Alice lives in Lisbon." ||
		told[0].Score != told[1].Score ||
		!slices.Contains(told[0].WhyRetrieved, "contradicts "+told[1].RID+", which is older") ||
		!slices.Contains(told[1].WhyRetrieved, "contradicts "+told[0].RID+", which is newer") {
		t.Errorf("the newer side of an open conflict does not come first, marked: %+v, %v", told, err)
	}
	open := "open"
	rows, err := cl.Conflicts(ctx, wire.Conflicts{Status: &open, Limit: 10})
	if err != nil || len(rows) != 4 || rows[0].Priority != "critical" {
		t.Fatalf("%+v, %v", rows, err)
	}
	text := "Bob works at Acme and at Globex"
	for i, how := range []wire.Resolve{{Strategy: "keep_a"}, {Strategy: "keep_b"}, {Strategy: "merge", NewText: &text},
		{Strategy: "keep_both"}} {
		how.ConflictID = rows[i].ConflictID
		if err := cl.Resolve(ctx, how); err != nil {
			t.Fatalf("%s: %v", how.Strategy, err)
		}
		if err := cl.Resolve(ctx, how); err == nil {
			t.Errorf("%s twice", how.Strategy)
		}
	}
	st, err := cl.Stats(ctx)
	if err != nil || st.OpenConflicts != 0 || st.TombstonedMemories != 4 || st.ActiveMemories != 5 {
		t.Errorf("%+v, %v", st, err)
	}
	hits, _, err := cl.Recall(ctx, wire.Recall{Query: "where does Bob work", TopK: 3})
	if err != nil || len(hits) == 0 {
		t.Fatal(hits, err)
	}
	if traits, err := cl.Personality(ctx); err != nil || len(traits) != 4 || traits[0].Name != "attentiveness" {
		t.Errorf("%v, %v", traits, err)
	}
	if err := cl.Resolve(ctx, wire.Resolve{ConflictID: "nobody", Strategy: "keep_a"}); err == nil {
		t.Error("a conflict that is not there was settled")
	}
}
