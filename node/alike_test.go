package node_test

import (
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

var alikeSeed = flag.Uint64("alike", 1, "TestNodesReadAlike: the seed of its requests")

// ofTheMoment matches the fields that differ between nodes, or change with time and by being read.
var ofTheMoment = regexp.MustCompile(`^(lag_seconds|index|log_index|node_id|operations|node_key|signature|node_files_hold|urgency|depth|per_day|half_life|access_count|last_access.*|last_seen.*)$`)

// settled leaves out of an answer what is of the moment. Scores fall with time: two digits of them are the same on
// all nodes that are asked within seconds.
func settled(v any) any {
	switch x := v.(type) {
	case obj:
		for k := range x {
			if x[k] = settled(x[k]); ofTheMoment.MatchString(k) {
				delete(x, k)
			}
		}
	case []any:
		for i := range x {
			x[i] = settled(x[i])
		}
	case float64:
		return math.Round(x*100)/100 + 0 // and no -0
	}
	return v
}

// ofQuestions reports whether an operation tells of the questions that a node was asked itself.
func ofQuestions(op *api.Op) bool { return op == api.Gaps.Op || op == api.Digest.Op }

// TestNodesReadAlike: whatever was asked of whichever node, while one of them was away, all nodes then answer every
// operation that reads alike, and so they do after a restart.
func TestNodesReadAlike(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	d := newDrawn(*alikeSeed)
	writes, reads := d.operations()
	reads = slices.DeleteFunc(reads, ofQuestions)
	done := map[*api.Op]int{}
	work := func(n int) {
		for range n {
			op := writes[d.IntN(len(writes))]
			if d.IntN(3) == 0 { // else there is soon nothing left
				op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
			} else if slices.Contains([]*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op}, op) && d.IntN(4) > 0 {
				continue
			}
			for _, op := range []*api.Op{op, reads[d.IntN(len(reads))]} { // what lists name, later requests can name
				if n := c.nodes[d.IntN(3)]; n != nil {
					w := &web{t: t, base: "http://" + n.Addrs().HTTP, token: secret}
					if status, _ := d.ask(w, d.request(op)); status == http.StatusOK {
						done[op]++
					} else if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
						t.Errorf("%s: %d", op.Name, status)
					}
				}
			}
		}
	}
	alike := func(when string, among []request) {
		t.Helper()
		c.agree()
		for _, r := range among {
			c.alike(when, r)
			if t.Failed() {
				t.FailNow() // the first says enough
			}
		}
	}
	work(suite.Count(0, 150, 400))
	away := (c.leader() + 1) % 3
	c.stop(away)
	work(suite.Count(0, 100, 200))
	c.open(away)
	c.ready(away)
	work(30)
	questions := make([]request, 8*len(reads))
	for i := range questions {
		questions[i] = d.request(reads[i%len(reads)])
		if status, _ := d.ask(c.web(0), questions[i]); status == http.StatusOK {
			done[questions[i].op]++
		}
	}
	alike("at work", questions)
	for i := range c.nodes {
		c.stop(i)
	}
	for i := range c.nodes {
		c.open(i)
	}
	for i := range c.nodes {
		c.ready(i)
	}
	alike("after a restart", questions[:3*len(reads)])
	for _, op := range slices.Concat(writes, reads) {
		if done[op] == 0 {
			t.Logf("%s never succeeded", op.Name)
		}
	}
}

// alike asks all nodes, and again while what was asked before may still be on its way to some of them.
func (c *cluster) alike(when string, r request) {
	c.t.Helper()
	var first, other string
	if suite.Within(suite.Patience, func() bool {
		for i := range c.nodes {
			status, out := c.web(i).send(r.op.Method(), r.path, r.body)
			said, err := json.Marshal([]any{status, settled(out)})
			if err != nil {
				c.t.Fatal(err)
			}
			if other = string(said); i == 0 {
				first = other
			} else if first != other {
				break
			}
		}
		return first == other
	}) {
		return
	}
	at := 0
	for at < min(len(first), len(other)) && first[at] == other[at] {
		at++
	}
	from := max(0, at-200)
	c.t.Errorf("%s, %v: nodes differ:\n… %.400s\n… %.400s", when, r, first[from:], other[from:])
}
