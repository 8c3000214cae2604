package node_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestDrawnWorkIsErased merges, splits, moves, corrects, forgets and undoes memories with a common word at random.
// After all of them are erased for good, no answer contains the word.
func TestDrawnWorkIsErased(t *testing.T) {
	suite.NotShort(t, "many requests, one after the other")
	t.Parallel()
	c := start(t, 1)
	d := newGenerator(*alikeSeed)
	w := c.web(0)
	_, reads := d.operations()
	reads = slices.DeleteFunc(reads, returnsQuestions)
	changes := []*api.Op{api.Correct.Op, api.Merge.Op, api.Split.Op, api.Move.Op, api.Undo.Op, api.Forget.Op, api.Think.Op,
		api.Feedback.Op, api.DraftSummary.Op, api.Rename.Op, api.Delete.Op}
	for round := range suite.Count(6, 20, 100) {
		word := fmt.Sprintf("quark%dword", round)
		var rids []string
		for range 3 {
			rids = append(rids, w.ok("POST", "/v1/remember", obj{"text": "Ada " + word + " leads " + d.phrase(), "metadata": obj{"m": word},
				"attributes": obj{"a": word}, "emotional_state": word, "session_id": "s"})["rid"].(string))
		}
		d.known["rid"] = slices.Clone(rids)
		var done []string
		for range 30 {
			r := d.request(changes[d.IntN(len(changes))])
			body := r.body.(obj)
			delete(body, "expected_revision")
			status, out := w.send(r.op.Method(), r.path, body)
			if status != http.StatusOK {
				continue
			}
			done = append(done, r.String())
			made, _ := out["rids"].([]any)
			for _, rid := range append(made, out["rid"]) {
				if rid, ok := rid.(string); ok {
					d.keep("rid", rid)
				}
			}
		}
		for _, rid := range rids {
			ask := obj{"rids": []string{rid}}
			if status, out := w.send("POST", "/v1/erase", ask); status == http.StatusOK { // else another erasure removed it
				ask["confirm"] = out["confirm"]
				w.send("POST", "/v1/erase", ask)
			}
		}
		told := func(by, what string) {
			t.Helper()
			if i := strings.Index(what, word); i >= 0 {
				t.Fatalf("%s tells of %s after\n%s\n… %s …", by, word, strings.Join(done, "\n"), what[max(0, i-500):min(len(what), i+200)])
			}
		}
		told("the export", w.raw("GET", "/v1/export", ""))
		for range 150 {
			if r := d.request(reads[d.IntN(len(reads))]); !strings.Contains(r.String(), word) {
				_, out := w.send(r.op.Method(), r.path, r.body)
				told(r.String(), fmt.Sprint(out))
			}
		}
	}
}
