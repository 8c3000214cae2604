package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestOnlyWhatMatched checks over HTTP, MCP and the wire, also for past times, that with a least score a recall
// returns only memories that reach it, reports how many it left out, and reinforces no others.
func TestOnlyWhatMatched(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.Reinforce = 20 * time.Millisecond })
	w := c.web(0)
	ids := map[string]string{}
	for _, text := range []string{"the violin is in the attic",
		"a violin, a cello, two bows, a stand and a music case wait below", "deploys run on friday", "coffee is out"} {
		ids[text] = w.ok("POST", "/v1/remember", obj{"text": text, "importance": 1})["rid"].(string)
	}
	strong, weak, other, unasked := ids["the violin is in the attic"], ids["a violin, a cello, two bows, a stand and a music case wait below"], ids["deploys run on friday"], ids["coffee is out"]
	accesses := func(rid string) float64 { return w.ok("GET", "/v1/memory/"+rid, nil)["access_count"].(float64) }
	rids := func(answer obj) (out []string) {
		for _, row := range answer["results"].([]any) {
			out = append(out, row.(obj)["rid"].(string))
		}
		return out
	}
	all := w.ok("POST", "/v1/recall", obj{"query": "violin attic", "min_score": 0, "skip_reinforce": true})
	if got := rids(all); !slices.Equal(got, []string{strong, weak}) || all["considered"] != 2. || all["below_min_score"] != 0. {
		t.Fatalf("got %v of %v", got, all)
	}
	faint := all["results"].([]any)[1].(obj)["score"].(float64)
	least := faint + 1e-6
	some := w.ok("POST", "/v1/recall", obj{"query": "violin attic", "min_score": least})
	if got := rids(some); !slices.Equal(got, []string{strong}) || some["considered"] != 2. || some["below_min_score"] != 1. {
		t.Errorf("over HTTP: got %v of %v", got, some)
	}
	then := w.ok("POST", "/v1/recall", obj{"query": "violin attic", "min_score": least, "as_of": time.Now().UTC().Format(time.RFC3339Nano)})
	if got := rids(then); !slices.Equal(got, []string{strong}) || then["below_min_score"] != 1. {
		t.Errorf("of a time: got %v of %v", got, then)
	}
	_, model := post(t, w.base+"/mcp", w.token,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"violin attic","skip_reinforce":true,"min_score":%v,"format":"json"}}}`, least))
	if !strings.Contains(model, strong) || strings.Contains(model, weak) || !strings.Contains(model, `\"below_min_score\":1`) ||
		!strings.Contains(model, `\"considered\":2`) {
		t.Errorf("over MCP: %s", model)
	}
	none := w.ok("POST", "/v1/recall", obj{"query": "zeppelin"})
	if len(rids(none)) != 0 || none["considered"] != 0. {
		t.Errorf("nothing matches: %v", none)
	}
	if listed := w.ok("POST", "/v1/recall", obj{"query": "", "top_k": 2}); !slices.Equal(rids(listed), []string{unasked, other}) {
		t.Errorf("nothing asked: %v", listed)
	}
	cl := c.dial(0)
	q := wire.NewRecall("violin attic")
	q.MinScore = &least
	results, end, err := cl.Recall(t.Context(), q)
	if err != nil || len(results) != 1 || results[0].RID != strong || end.Considered != 2 || end.BelowMinScore != 1 {
		t.Errorf("over the wire: %+v, %+v, %v", results, end, err)
	}
	*q.MinScore = -1
	if _, _, err := cl.Recall(t.Context(), q); err == nil {
		t.Error("over the wire a negative min_score is taken")
	}
	suite.Eventually(t, "what was returned counts", func() bool { return accesses(strong) == 2 })
	for _, rid := range []string{weak, other, unasked} {
		if n := accesses(rid); n != 0 {
			t.Errorf("%s was brought to mind %v times by questions that it does not answer", rid, n)
		}
	}
}
