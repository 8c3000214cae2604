package node_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestADropIsNoticedByItsDatabaseAlone drops a large database. It disappears at once from every list and answer, also
// for callers that were let in before, and a new database of the same name is empty. The leader erases its rows in
// steps, which disturb no other database.
func TestADropIsNoticedByItsDatabaseAlone(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background = engine.Background{NoThink: true} })
	w := c.web(0)
	w.ok("POST", "/v1/databases", obj{"name": "work"})
	token := w.createToken(obj{"database": "work"})
	s, caller := c.service(0)
	rid := w.ok("POST", "/v1/remember", obj{"text": "of another database"})["rid"].(string)
	letIn, err := c.nodes[0].Access().Select(caller, "work")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		var drafts []api.Draft
		for i := range 500 {
			drafts = append(drafts, api.Draft{Text: fmt.Sprintf("row %d of batch %d", i, n)})
		}
		if _, err := remember(t.Context(), s, letIn, "", drafts...); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := api.Memories.Do(t.Context(), s, letIn, &api.MemoriesRequest{}); err != nil || m.Total != 2500 {
		t.Fatalf("it holds %+v, %v", m, err)
	}
	w.ok("DELETE", "/v1/databases/work", nil)
	if _, err := api.Memories.Do(t.Context(), s, letIn, &api.MemoriesRequest{}); !errors.Is(err, oplog.ErrNoDatabase) {
		t.Errorf("who was let in before lists: %v", err)
	}
	if _, err := api.Recall.Do(t.Context(), s, letIn,
		&api.RecallRequest{Question: api.Question{Text: "row", K: 1}}); !errors.Is(err, oplog.ErrNoDatabase) {
		t.Errorf("who was let in before recalls: %v", err)
	}
	if status, out := w.with(token).send("GET", "/v1/memories", nil); status != http.StatusUnauthorized {
		t.Errorf("its token: %d %v", status, out)
	}
	w.ok("POST", "/v1/databases", obj{"name": "work"})
	again, err := c.nodes[0].Access().Select(caller, "work")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := api.Memories.Do(t.Context(), s, again, &api.MemoriesRequest{}); err != nil || len(m.Items) > 0 {
		t.Errorf("a database of its name holds %+v, %v", m, err)
	}
	suite.Eventually(t, "its rows are erased in several entries", func() bool {
		log, err := api.Log.Do(t.Context(), s, caller, &api.LogRequest{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for _, line := range log.Lines {
			if line.Operations[0].Kind == "erase" {
				steps++
			}
		}
		return steps > 3
	})
	w.ok("GET", "/v1/memory/"+rid, nil)
	if _, err := c.dial(0).Remember(t.Context(), wire.NewRemember("afterwards")); err != nil {
		t.Error(err)
	}
}
