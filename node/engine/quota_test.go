package engine_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestAFullDatabaseAnswersWhatItStored: in a full database, writes from before can be repeated under their keys, and
// two memories can be merged into one.
func TestAFullDatabaseAnswersWhatItStored(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	if err := n.Service().Propose(t.Context(), c, &oplog.SetQuota{DB: c.DB, MaxMemories: 5}); err != nil {
		t.Fatal(err)
	}
	lines := `{"type":"memory","text":"the boat is red"}` + "\n" + `{"type":"memory","text":"tea is green"}` + "\n"
	var one *api.Remembered
	var batch *api.RememberedBatch
	for range 2 {
		done, err := api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Lines: strings.NewReader(lines)})
		if err != nil || done.Memories+done.Kept != 2 {
			t.Fatalf("the import says %+v, %v", done, err)
		}
		if one, err = api.Remember.Do(t.Context(), n.Host(), c, &api.RememberRequest{Draft: api.Draft{Text: "Ada plays chess", Key: "k"}}); err != nil {
			t.Fatal(err)
		}
		if batch, err = api.RememberBatch.Do(t.Context(), n.Host(), c, &api.RememberBatchRequest{Key: "b",
			Memories: []api.Draft{{Text: "Ada is in Oslo"}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := api.AddTask.Do(t.Context(), n.Host(), c, &api.AddTaskRequest{Title: "pack", Status: "open", Priority: "low", Key: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Remember.Do(t.Context(), n.Host(), c, &api.RememberRequest{Draft: api.Draft{Text: "one more"}}); err == nil ||
		!strings.Contains(err.Error(), "would exceed memory quota") {
		t.Errorf("one more says %v", err)
	}
	if _, err := api.Merge.Do(t.Context(), n.Host(), c, &api.MergeRequest{RIDs: []string{one.RID, batch.RIDs[0]},
		Text: "Ada plays chess in Oslo"}); err != nil {
		t.Errorf("a merge says %v", err)
	}
}
