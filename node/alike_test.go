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

// ofTheMoment matches the fields that differ between nodes, or that change with time or by reading.
var ofTheMoment = regexp.MustCompile(`^(lag_seconds|index|log_index|node_id|operations|node_key|signature|node_files_hold|urgency|depth|per_day|half_life|access_count|last_access.*|last_seen.*)$`)

// removeVolatile removes these fields from an answer. Scores decay, so it keeps two digits, which are equal on all
// nodes within seconds.
func removeVolatile(v any) any {
	switch x := v.(type) {
	case obj:
		for k := range x {
			if x[k] = removeVolatile(x[k]); ofTheMoment.MatchString(k) {
				delete(x, k)
			}
		}
	case []any:
		for i := range x {
			x[i] = removeVolatile(x[i])
		}
	case float64:
		return math.Round(x*100)/100 + 0 // and no -0
	}
	return v
}

// returnsQuestions reports whether an operation returns the questions that a node itself received.
func returnsQuestions(op *api.Op) bool { return op == api.Gaps.Op || op == api.Digest.Op }

// TestNodesReadAlike sends random requests to random nodes, while one of them is away, and checks that all nodes then
// give the same answers to every read, also after a restart.
func TestNodesReadAlike(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	d := newGenerator(*alikeSeed)
	writes, reads := d.operations()
	reads = slices.DeleteFunc(reads, returnsQuestions)
	done := map[*api.Op]int{}
	work := func(n int) {
		for range n {
			op := writes[d.IntN(len(writes))]
			if d.IntN(3) == 0 { // drop rarely, or soon nothing is left
				op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
			} else if slices.Contains([]*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op}, op) && d.IntN(4) > 0 {
				continue
			}
			for _, op := range []*api.Op{op, reads[d.IntN(len(reads))]} { // later requests use the names from lists
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
			c.compareAnswers(when, r)
			if t.Failed() {
				t.FailNow() // one difference is enough
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

// compareAnswers compares the answers of all nodes, and tries again while earlier writes may still be on their way.
func (c *cluster) compareAnswers(when string, r request) {
	c.t.Helper()
	var first, other string
	if suite.Within(suite.Patience, func() bool {
		for i := range c.nodes {
			status, out := c.web(i).send(r.op.Method(), r.path, r.body)
			said, err := json.Marshal([]any{status, removeVolatile(out)})
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
