package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestAListOfContradictionsHasRoom checks that a list of contradictions, which has the texts of their sides, ends
// where they have no room together, and says so.
func TestAListOfContradictionsHasRoom(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	const pairs = 20
	remember := func(rid, text string) oplog.Op {
		return &oplog.Remember{Content: oplog.Content{RID: rid, Text: text, Namespace: "default", Created: 1}}
	}
	ops := []oplog.Op{remember("large", "Ada is in Oslo. "+strings.Repeat("x ", 500_000))}
	round := &oplog.Cognition{At: 2}
	for i := range pairs {
		other := fmt.Sprint("m", i)
		ops = append(ops, remember(other, fmt.Sprintf("Ada is in town %d.", i)))
		round.Conflicts = append(round.Conflicts, oplog.ConflictRow{ID: fmt.Sprint("c", i), Type: "minor", A: "large", B: other, Namespace: "default", Detected: 2})
	}
	for _, entry := range [][]oplog.Op{ops, {round}} {
		if err := n.Service().Propose(t.Context(), owner, entry...); err != nil {
			t.Fatal(err)
		}
	}
	a, err := api.Conflicts.Do(t.Context(), n.Host(), owner, &api.ConflictsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Conflicts) != 16 || !strings.Contains(a.Incomplete, "16 contradictions") {
		t.Errorf("%d of %d contradictions: %q", len(a.Conflicts), pairs, a.Incomplete)
	}
	for _, x := range a.Conflicts {
		if x.SideA == nil || x.SideB == nil {
			t.Errorf("without its sides: %v", x)
		}
	}
	if a, err = api.Conflicts.Do(t.Context(), n.Host(), owner, &api.ConflictsRequest{Memory: "m19"}); err != nil || len(a.Conflicts) != 1 || a.Incomplete != "" {
		t.Errorf("of one memory: %v %v", a, err)
	}
}
