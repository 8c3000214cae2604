package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// upTo reads events up to one about id, and returns their subjects. After a purge a client must read everything
// again.
func (l *listener) upTo(id string) (about map[string]bool, purged bool) {
	l.t.Helper()
	defer time.AfterFunc(suite.Patience, func() { l.nc.Close() }).Stop() // heartbeats continue without events
	for about = map[string]bool{}; ; {
		_, name, data := l.next()
		of, _ := data["id"].(string)
		if of == id {
			return about, purged
		}
		about[of] = true
		purged = purged || name == "purged"
	}
}

// TestEveryChangeIsTold sends random requests and checks that an event names each memory that is added, changed or
// removed. So a client that follows the events and reads the named memories again has the same content as the
// database.
func TestEveryChangeIsTold(t *testing.T) {
	suite.NotShort(t, "many requests, one after the other")
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	d := newGenerator(*alikeSeed)
	writes, reads := d.operations()
	for i := range suite.Count(5, 10, 50) {
		c.atOnce(0, fmt.Sprintf("Dora%d lives in Rome.", i), fmt.Sprintf("Dora%d lives in Paris.", i))
	}
	w.ok("POST", "/v1/think", obj{})
	for _, x := range w.ok("GET", "/v1/conflicts?status=open&limit=50", nil)["conflicts"].([]any) {
		d.keep(d.subject[api.Resolve.Op]+".id", x.(obj)["conflict_id"].(string))
	}
	l := w.listen("")
	was := w.exportOutside("")
	done := map[*api.Op]bool{}
	for range suite.Count(150, 300, 1500) {
		op := writes[d.IntN(len(writes))]
		if d.IntN(2) == 0 { // drop rarely, or soon nothing is left
			op = []*api.Op{api.Remember.Op, api.Put.Op, api.Merge.Op, api.Split.Op, api.Think.Op, api.Resolve.Op}[d.IntN(6)]
		} else if slices.Contains([]*api.Op{api.Purge.Op, api.ForgetMatching.Op}, op) || op == api.Erase.Op && d.IntN(4) > 0 {
			continue
		}
		r := d.request(op)
		if status, _ := d.ask(w, r); status != http.StatusOK {
			continue
		}
		done[op] = true
		d.ask(w, d.request(reads[d.IntN(len(reads))]))
		is := w.exportOutside("")
		about, purged := l.upTo(w.ok("POST", "/v1/relate",
			obj{"entity": "told", "relationship": "read", "target": "up to here"})["edge_id"].(string))
		for rid := range is {
			if was[rid] != is[rid] && !about[rid] && !purged {
				t.Errorf("%v: no event names %s\nwas %s\nis  %s", r, rid, was[rid], is[rid])
			}
		}
		for rid := range was {
			if _, there := is[rid]; !there && !about[rid] && !purged {
				t.Errorf("%v: no event names %s, which is gone", r, rid)
			}
		}
		was = is
	}
	if !done[api.Merge.Op] || !done[api.Split.Op] || !done[api.Resolve.Op] {
		t.Error("nothing was merged, split or resolved")
	}
}

// TestWhatIsRenewedKeepsItsId checks that a relation or a claim that is stated again keeps its id, in the answer, in
// the events and in the log.
func TestWhatIsRenewedKeepsItsId(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	l := w.listen("")
	l.next()
	relation := obj{"entity": "Ada", "relationship": "leads", "target": "payments"}
	claim := obj{"src": "Ada", "rel_type": "owns", "dst": "the ledger", "extractor": "test"}
	var first [2]any
	for again := range 2 {
		for i, id := range []any{w.ok("POST", "/v1/relate", relation)["edge_id"], w.ok("POST", "/v1/claim", claim)["claim_id"]} {
			if again == 0 {
				first[i] = id
			}
			if _, name, data := l.next(); id != first[i] || data["id"] != first[i] {
				t.Errorf("time %d: answered with %v, told as %s of %v; it is %v", again, id, name, data["id"], first[i])
			}
		}
	}
	for i, line := range slices.Collect(strings.Lines(w.raw("GET", "/v1/admin/log?limit=4", ""))) {
		var entry struct{ Operations []struct{ ID string } }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Operations[0].ID != first[i%2] {
			t.Errorf("the log says %s, not %v: %v", line, first[i%2], err)
		}
	}
}
