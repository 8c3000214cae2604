package thinking

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// TestTheNewestStatementsAreCompared checks that, with more claims and relations than a round reads, it compares the
// newest with each other and with older ones about the same subject, also in a round of one namespace.
func TestTheNewestStatementsAreCompared(t *testing.T) {
	t.Parallel()
	th, c := newTestThinker(t)
	th.cfg.Rows = 10
	most := statementsPerRow * th.cfg.Rows
	var ops []oplog.Op
	states := func(space, who, where string) {
		at := oplog.At(time.Now())
		ops = append(ops, &oplog.Claim{ID: oplog.NewID(), Namespace: space, Src: who, Type: "born_in", Dst: where,
			Polarity: 1, Modality: "asserted", Extractor: "x", Band: "high", Weight: 1, At: at})
		if space == "default" {
			ops = append(ops, &oplog.Relate{ID: oplog.NewID(), Src: who, Dst: where, Type: "lives_in", Weight: 1, At: at})
		}
	}
	states("default", "Alice", "Lisbon")
	states("work", "Dora", "Rome")
	for i := range most {
		states("default", fmt.Sprint("Person ", i), "Berlin")
	}
	states("default", "Alice", "Oslo")   // contradicts one of the oldest claims
	states("default", "Bob", "Paris")    // contradicts one of the newest claims
	states("default", "Bob", "Toulouse") // contradicts the previous one
	states("work", "Dora", "Milan")
	_, _, err := th.cfg.Write(t.Context(), c, ops...)
	must(t, err)
	found := func() map[string]int {
		by := map[string]int{}
		must(t, th.cfg.State.Read(func(v *state.View) error {
			rows, _ := FindConflicts(v, c, &api.ConflictsRequest{Status: "open"})
			for _, row := range rows {
				by[*row.Entity+" "+*row.Relation]++
			}
			return nil
		}))
		return by
	}
	round := func(space string) {
		t.Helper()
		_, err := th.Think(t.Context(), c, &api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true}, Namespace: space})
		must(t, err)
	}
	round("work")
	if got := found(); got["Dora born_in"] != 1 || len(got) != 1 {
		t.Errorf("found in one namespace: %v", got)
	}
	round("")
	if got, want := found(), map[string]int{"Alice born_in": 1, "Alice lives_in": 1, "Bob born_in": 1, "Bob lives_in": 1,
		"Dora born_in": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found: %v, want %v", got, want)
	}
	ops = nil
	states("quiet", "Gus", "Rome")
	states("quiet", "Gus", "Milan")
	for i := range most { // newer ones of another namespace
		states("default", fmt.Sprint("Guest ", i), "Madrid")
	}
	_, _, err = th.cfg.Write(t.Context(), c, ops...)
	must(t, err)
	round("quiet")
	if got := found(); got["Gus born_in"] != 1 {
		t.Errorf("found in one namespace behind newer claims of another: %v", got)
	}
}
