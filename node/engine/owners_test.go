package engine_test

import (
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestOwnersKeepTheirOwn: think merges duplicates of one owner, but not of two, because each owner would lose a
// memory that others would then see.
func TestOwnersKeepTheirOwn(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	now := oplog.At(time.Now())
	for rid, owner := range map[string]string{"a": "Ada", "b": "Ada", "c": "Grace"} {
		if err := n.Service().Propose(t.Context(), c, &oplog.Remember{Content: oplog.Content{RID: rid, Owner: owner, Namespace: "default",
			Text: "The payments service is deployed on Tuesday at noon", Importance: .5, HalfLife: 604800, Created: now, Extractor: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Think.Do(t.Context(), n.Host(), c, &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true}, Limit: 50,
		MinActive: 1, Days: 7}); err != nil {
		t.Fatal(err)
	}
	owners := map[string]int{}
	for _, m := range memoriesOf(t, n, c) {
		if m.Memory.Status == oplog.Active {
			owners[m.Memory.Owner]++
		}
	}
	if len(owners) != 2 || owners["Ada"] != 1 || owners["Grace"] != 1 {
		t.Errorf("active memories by owner: %v, want one of each", owners)
	}
}
