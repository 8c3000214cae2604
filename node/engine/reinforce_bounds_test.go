package engine

import (
	"fmt"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestReinforcementIsBounded: the number of recorded hits that are not written yet is bounded.
func TestReinforcementIsBounded(t *testing.T) {
	t.Parallel()
	r := newReinforcer(&Service{})
	for i := range reinforceMost + 10 {
		r.add(1, oplog.Hit{RID: fmt.Sprint(i), Count: 1})
	}
	if r.rids != reinforceMost {
		t.Errorf("%d kept", r.rids)
	}
	got := 0
	for _, b := range r.takeBatches() {
		if len(b.hits) > reinforceOps {
			t.Errorf("a batch of %d", len(b.hits))
		}
		got += len(b.hits)
	}
	if got != reinforceMost {
		t.Errorf("%d taken", got)
	}
}
