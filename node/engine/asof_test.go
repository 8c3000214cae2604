//go:build full

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// TestARecallOfThePastIsBounded checks that an answer about an earlier time has no more bytes of memories than one of
// now, however large those are that were forgotten since, and that it counts those that it leaves out.
func TestARecallOfThePastIsBounded(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	const memories, size = 24, 1 << 20
	var rids []string
	for i := range memories {
		rids = append(rids, with(t, n, c, fmt.Sprint("violin ", i, strings.Repeat(" x", size/2-20)), `{}`))
	}
	then := time.Now().Add(time.Minute) // after all of them, also by the cluster's clock
	for _, rid := range rids {
		if err := n.Service().Propose(t.Context(), c, &oplog.Forget{RID: rid, At: oplog.At(then) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, question := range []string{"violin", ""} {
		a, err := api.Recall.Do(t.Context(), n.Host(), c,
			&api.RecallRequest{AsOf: field.Date{Time: then}, Question: api.Question{Text: question, K: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, r := range a.Results {
			bytes += len(r.Text)
		}
		if bytes > 16<<20 || bytes < 8<<20 || a.Left != memories-len(a.Results) {
			t.Errorf("%q: %d bytes in %d memories, %d left out", question, bytes, len(a.Results), a.Left)
		}
		if few, err := api.Recall.Do(t.Context(), n.Host(), c, &api.RecallRequest{AsOf: field.Date{Time: then},
			Question: api.Question{Text: question, K: 3}}); err != nil || len(few.Results) != 3 || few.Left != 0 || len(few.Results[0].Text) < size/2 {
			t.Errorf("%q: three of them: %+v, %v", question, few, err)
		}
	}
}
