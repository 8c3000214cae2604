package engine_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestWhatIsHeldIsReleasedFirst: a move, a merge and a split of a memory in quarantine say why they are rejected.
func TestWhatIsHeldIsReleasedFirst(t *testing.T) {
	t.Parallel()
	n, c := alone(t)
	other := stored(t, n, c, api.Draft{Text: "tea is green"})
	distrusted := c
	distrusted.Policy.Quarantine = oplog.TrustWeb
	held := stored(t, n, distrusted, api.Draft{Text: "the boat is red", Trust: oplog.TrustWeb})
	_, move := api.Move.Do(t.Context(), n.Host(), c, &api.MoveRequest{RID: held, To: "work"})
	_, merge := api.Merge.Do(t.Context(), n.Host(), c, &api.MergeRequest{RIDs: []string{held, other}, Text: "a boat, and tea"})
	_, split := api.Split.Do(t.Context(), n.Host(), c, &api.SplitRequest{RID: held, Texts: []string{"a boat", "it is red"}})
	for name, err := range map[string]error{"move": move, "merge": merge, "split": split} {
		if err == nil || !strings.Contains(err.Error(), "waits in quarantine") {
			t.Errorf("a %s says %v", name, err)
		}
	}
}
