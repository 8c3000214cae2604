package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/thinking"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/field"
)

// TestTheLeaderTidiesUp: tiers follow the database's policies, and sessions without an end are ended by the log's
// time.
func TestTheLeaderTidiesUp(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	s := n.Service()
	ctx := t.Context()
	old := time.Now().Add(-48 * time.Hour)
	drafts := []api.Draft{{RID: "scratch", Text: "left over scratch", Tier: thinking.TierWorking, Created: field.Date{Time: old}},
		{RID: "used", Text: "looked at again and again", Tier: thinking.TierWorking, Created: field.Date{Time: old}}}
	for i := range 10 { // the minimum for a round
		drafts = append(drafts,
			api.Draft{RID: fmt.Sprint("n", i), Text: fmt.Sprint("note ", i), Tier: thinking.TierLongterm, Created: field.Date{Time: old}})
	}
	if err := s.Remember(ctx, c, drafts...); err != nil {
		t.Fatal(err)
	}
	if err := s.Propose(ctx, c, &oplog.Reinforce{Hits: []oplog.Hit{{RID: "used", Count: 3, At: oplog.At(time.Now())}}}); err != nil {
		t.Fatal(err)
	}
	ttl, after := (24 * time.Hour).Seconds(), uint64(3)
	if _, err := api.SetSettings.Do(ctx, s, c, &api.SetSettingsRequest{WorkingTTL: &ttl, PromoteAfter: &after}); err != nil {
		t.Fatal(err)
	}
	if err := s.ThinkAlone(ctx, c); err != nil {
		t.Fatal(err)
	}
	for rid, want := range map[string]string{"scratch": "tombstoned working", "used": "active episodic", "n0": "active longterm"} {
		m, err := api.Get.Do(ctx, s, c, &api.GetRequest{RID: rid})
		if err != nil || fmt.Sprint(m.Status, " ", m.Tier) != want {
			t.Errorf("%s: %+v, %v", rid, m, err)
		}
	}
	for _, x := range []oplog.SessionStart{{ID: "left", Namespace: "default", Client: "a", At: oplog.At(old)},
		{ID: "open", Namespace: "default", Client: "b", At: oplog.At(time.Now())}} {
		if err := s.Propose(ctx, c, &x); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Abandon(ctx, c); err != nil {
		t.Fatal(err)
	}
	a, err := api.Sessions.Do(ctx, s, c, &api.SessionsRequest{})
	if err != nil || a.Count != 2 || a.Sessions[0].Status != "active" || a.Sessions[1].Status != "abandoned" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestStatsCostTheSameHoweverMuchThereIs: stats are read from counters, whatever the number of rows.
func TestStatsCostTheSameHoweverMuchThereIs(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: compares costs, which the race detector falsifies")
	}
	n, c := startSingle(t)
	s := n.Service()
	cost := func() float64 { // the minimum, because the background work of the node counts too
		least := math.Inf(1)
		for range 5 {
			least = min(least, testing.AllocsPerRun(20, func() {
				if _, err := api.Stats.Do(t.Context(), s, c, &api.StatsRequest{Verbose: true}); err != nil {
					t.Error(err)
				}
			}))
		}
		return least
	}
	store := func(from, to int) {
		var drafts []api.Draft
		for i := from; i < to; i++ {
			drafts = append(drafts, api.Draft{Text: fmt.Sprintf("Person%d Smith works at Company%d Inc.", i, i)})
		}
		for part := range slices.Chunk(drafts, 500) {
			if err := s.Remember(t.Context(), c, part...); err != nil {
				t.Fatal(err)
			}
		}
	}
	store(0, 10)
	few := cost()
	store(10, 10_000)
	var many float64
	if !suite.Within(suite.Patience, func() bool { // until the index has put them on the disk
		many = cost()
		return many <= few+200
	}) {
		t.Errorf("%.0f allocations for ten memories, %.0f for ten thousand", few, many)
	}
	st, err := api.Stats.Do(t.Context(), s, c, &api.StatsRequest{Verbose: true})
	if err != nil || st.Active != 10_000 || st.Claims != 10_000 || st.Entities < 10_000 {
		t.Errorf("%+v, %v", st, err)
	}
}
