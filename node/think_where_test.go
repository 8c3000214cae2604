package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/mind/mindtest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestFollowersAndThinking checks that a follower that is asked to think names the leader, over the wire and over
// HTTP. Where writes are forwarded it asks the leader and answers once it has applied the decisions. Afterwards all
// nodes give the same answers.
func TestFollowersAndThinking(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const forwards = 2 // this node does
	c := startWith(t, 3, func(i int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = new(i == forwards) })
	for c.leader() == forwards { // the node must follow
		c.stop(forwards)
		c.leader()
		c.open(forwards)
		c.ready(forwards)
	}
	lead := c.leader()
	s, caller := c.local(lead)
	corpus := mindtest.New(11)
	store(t, s, caller, corpus)
	follower := 1 - lead // neither node forwards
	c.agree()            // the node knows the leader's gateway
	status, said := c.web(follower).send("POST", "/v1/think", obj{})
	if status != 307 || said["error"] != fmt.Sprintf("read-only: not the leader (current leader: node %d)", lead+1) ||
		said["leader_addr"] == nil {
		t.Errorf("over HTTP: %d %v", status, said)
	}
	raw := newRawClient(t, c.nodes[follower].Addrs().Wire)
	if f := raw.ask(wire.OpThink, &wire.Think{RunConflictScan: true}); f.Op != wire.OpReadonlyError {
		t.Errorf("over the wire: %s", f)
	}
	told := c.web(forwards).ok("POST", "/v1/think", obj{"run_conflict_scan": true, "run_consolidation": false})
	if n := told["conflicts_found"].(float64); n < 24 || len(told) != 7 || len(told["triggers"].([]any)) == 0 {
		t.Errorf("forwarded over HTTP: %v", told)
	}
	if list := c.web(forwards).ok("GET", "/v1/conflicts?status=open&limit=1000", nil)["conflicts"].([]any); float64(len(list)) != told["conflicts_found"] {
		t.Errorf("%d conflicts here, the answer said %v", len(list), told["conflicts_found"])
	}
	r, err := c.dial(forwards).Think(t.Context(),
		wire.Think{RunConsolidation: true, ConsolidationLimit: len(corpus.Rows), RunPatternMining: true, RunPersonality: true})
	if err != nil || r.ConsolidationCount < 32 || !r.PersonalityUpdated {
		t.Errorf("forwarded over the wire: %+v, %v", r, err)
	}
	// reinforcement by a digest is written seconds later, perhaps between the answers of two nodes
	suite.Eventually(t, "a quiet moment", func() bool {
		at := applied(c)
		c.agree()
		differ := difference(t, c)
		quiet := slices.Equal(at, applied(c))
		if quiet && differ != "" {
			t.Error(differ)
		}
		return quiet
	})
}

// applied returns how far each node has applied the log.
func applied(c *cluster) (at []oplog.Index) {
	for _, n := range c.nodes {
		at = append(at, n.Service().Applied())
	}
	return at
}

// difference returns the answers of a node that differ from the first node's, and the first's; "" if all agree.
func difference(t *testing.T, c *cluster) string {
	t.Helper()
	now := time.Now() // the same for all
	first := answers(t, c, 0, now)
	for i := 1; i < len(c.nodes); i++ {
		if got := answers(t, c, i, now); got != first {
			return fmt.Sprintf("node %d answers\n%s\nand node 1\n%s", i+1, got, first)
		}
	}
	return ""
}

// answers returns a node's answers to requests that depend on the decisions.
func answers(t *testing.T, c *cluster, i int, now time.Time) string {
	t.Helper()
	var b strings.Builder
	w := c.web(i)
	for _, path := range []string{"/v1/conflicts?limit=1000", "/v1/triggers?status=all&limit=1000",
		"/v1/patterns?limit=1000", "/v1/personality", "/v1/stats",
		"/v1/memories?limit=200", "/v1/chronology?limit=1000", "/v1/session/digest"} {
		fmt.Fprintln(&b, path, w.ok("GET", path, nil))
	}
	s, caller := c.local(i)
	caller.Quiet = true
	for _, text := range []string{"who asked for the quarterly report", "where does Alice live", "deadline of Project Apollo"} {
		a, err := recall(t.Context(), s, caller, index.Query{Text: text, K: 10, Now: now}, commit.Stale)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range a.Hits {
			fmt.Fprintf(&b, "%s %.17g %v\n", h.Memory.RID, h.Score, h.Why)
		}
	}
	return b.String()
}
