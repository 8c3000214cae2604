package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A dialectCluster has three nodes that serve all host dialects, and the node that the clients of the subtests use.
type dialectCluster struct {
	nodes    []*cairntest.Node
	token    string
	follower int
	socket   string // SiftCoder's, on the follower
	project  string
}

// TestDialectsOnACluster checks clients of the host dialects on a cluster that loses its nodes one by one. They write
// on a follower and find the writes on every node. They continue after the leader is killed. With one node left,
// writes are rejected and reads succeed.
func TestDialectsOnACluster(t *testing.T) {
	t.Parallel()
	d := &dialectCluster{project: shortDir(t)}
	d.nodes, d.token = startThreeIn(t, shortDir(t), func(*config.NodeFile) {}, 0, 1, 2)
	leader := leaderOf(t, d.nodes)
	d.follower = (leader + 1) % 3
	d.socket = siftOpenAt(t, d.nodes[d.follower].Line.Home, d.project)
	for _, p := range d.nodes {
		if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, `"agent_id":"e2e"`) {
			t.Fatalf("register: %s", got)
		}
	}
	t.Run("Covenant on every node", d.covenant) // first, because it purges everything
	t.Run("stringd on every node", d.stringd)
	t.Run("SiftCoder on every node", d.sift)
	t.Run("SiftCoder's later kinds on a follower", d.siftLater)

	for leader = leaderOf(t, d.nodes); leader == d.follower; leader = leaderOf(t, d.nodes) { // on a busy machine the follower may have become the leader
		cairntest.Run(t, "cluster", "transfer", "--node-id", fmt.Sprint(d.nodes[(d.follower+1)%3].Line.NodeID),
			"--endpoints", d.followerNode().Line.HTTP, "--token", d.token)
	}
	d.nodes[leader].Kill()
	t.Run("the leader is killed", d.withoutLeader)
	for i, p := range d.nodes {
		if i != d.follower {
			p.Kill()
		}
	}
	t.Run("without a quorum", func(t *testing.T) {
		t.Run("Covenant", d.covenantWithoutQuorum)
		t.Run("stringd", d.stringdWithoutQuorum)
		t.Run("SiftCoder", d.siftWithoutQuorum)
	})
}

// followerNode returns the follower that the clients of the subtests use.
func (d *dialectCluster) followerNode() *cairntest.Node { return d.nodes[d.follower] }

// covenant checks that Covenant on another node finds memories that clients of one node stored in other dialects, and
// that its purges apply to every node.
func (d *dialectCluster) covenant(t *testing.T) {
	nodes := d.nodes
	a, b := covenantOf(t, d.followerNode()), covenantOf(t, nodes[(d.follower+1)%3])
	wc, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{nodes[leaderOf(t, nodes)].Line.Wire}, Token: d.token, DialTimeout: suite.Patience,
			Patience: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer wc.Close()
	if _, err := putUntilKnown(t.Context(), wc, wire.NewRemember("the wombat sleeps by day")); err != nil {
		t.Fatal(err)
	}
	intent := covenantAsked[struct {
		ID string `json:"intent_id"`
	}](t, a, map[string]any{"kind": "submit_intent", "text": "remember the axolotl"})
	find := func(c *covenant.Client, what string) (n int) {
		return len(covenantAsked[covenantRecords](t, c, map[string]any{"kind": "search_memory", "query": what}).Records)
	}
	siftDo(t, d.socket, `{"kind":"capture","sessionId":"s","tool":"Notification","payload":{"message":"the quokka smiles"}}`)
	suite.Eventually(t, "three memories on another node",
		func() bool { return find(b, "wombat") == 1 && find(b, "axolotl") == 1 && find(b, "quokka") == 1 })
	sameState(t, nodes) // everything is on all nodes before the purge
	rs := covenantAsked[covenantRecords](t, b, map[string]any{"kind": "search_memory", "query": "axolotl"}).Records
	if rs[0].ID != intent.ID || rs[0].Owner.Display != "user@local" {
		t.Errorf("%+v", rs[0])
	}
	for i, p := range nodes { // there is one operator, and every node can sign for it
		c := covenantOf(t, p)
		covenantAsked[any](t, c, map[string]any{"kind": "grant_capability", "action": fmt.Sprint("test.node", i)})
		v := covenantAsked[struct {
			Orphans uint64 `json:"orphans_total"`
			Checks  []struct{ Message string }
		}](t, c, map[string]any{"kind": "verify"})
		if v.Orphans != 0 {
			t.Errorf("node %d sees drift: %+v", i+1, v)
		}
	}
	if got := covenantAsked[struct{ Purged uint64 }](t, b,
		map[string]any{"kind": "purge_memory", "before_ms": time.Now().Add(time.Hour).UnixMilli()}); got.Purged != 3 {
		t.Errorf("purged %d, want 3", got.Purged)
	}
	for _, p := range nodes {
		c := covenantOf(t, p)
		suite.Eventually(t, fmt.Sprintf("node %d to lose what was purged", p.Line.NodeID),
			func() bool { return find(c, "wombat")+find(c, "axolotl")+find(c, "quokka") == 0 })
	}
	if got := exportedBy(t, nodes[2], d.token); len(got) != 0 {
		t.Errorf("still exported: %v", got)
	}
	sameState(t, nodes)
}

// stringd checks that memories that an agent stores on a follower are found there at once, and on the other nodes at
// that index.
func (d *dialectCluster) stringd(t *testing.T) {
	follower := d.followerNode()
	for i := range 20 {
		text := fmt.Sprintf("fact%d about the lighthouse", i)
		got := stringDo(t, follower, fmt.Sprintf("/remember --json --key fact%d %s", i, text))
		if got, _ := stringExec(t, follower, fmt.Sprintf("/recall fact%d", i)); !strings.Contains(got, text) {
			t.Fatalf("not found at once: %s", got)
		}
		index := between(got, `\"index\":`, ",")
		for _, p := range d.nodes {
			if got := stringDo(t, p, fmt.Sprintf("/recall --after %s fact%d", index, i)); !strings.Contains(got, text) {
				t.Fatalf("not found on another node at index %s: %s", index, got)
			}
		}
	}
	stringDo(t, follower, "/recall --consistency leader lighthouse")
	for i, text := range []string{"Alice lives in Lisbon.", "Alice lives in Berlin.",
		"Bob asked for the quarterly report on Thursday.", "Note that Bob asked for the quarterly report on Thursday."} {
		stringDo(t, follower, fmt.Sprintf("/remember --key thought%d %s", i, text))
	}
	// The second statement superseded the first when it was stored, so they contradict each other no more.
	if got := stringDo(t, follower, "/think --json"); !strings.Contains(got, `\"merged\":1,`) ||
		!strings.Contains(got, `\"conflicts\":0,`) {
		t.Errorf("think on a follower: %s", got)
	}
	suite.Eventually(t, "a follower that names its leader", func() bool {
		answer, _ := stringExec(t, d.nodes[(leaderOf(t, d.nodes)+1)%3], "/cluster")
		return strings.Contains(answer, "(follower)") && strings.Contains(answer, " leader ")
	})
}

// sift checks that captures on a follower's socket are found there at once, and on the other nodes over the wire
// protocol and on their sockets. Memories of the wire protocol must be found on the sockets.
func (d *dialectCluster) sift(t *testing.T) {
	other := (d.follower + 1) % 3
	elsewhere := siftOpenAt(t, d.nodes[other].Line.Home, d.project)
	var first float64
	for i := range 20 {
		text := fmt.Sprintf("the lighthouse keeper wrote note %d in the harbour log", i)
		r := siftDo(t, d.socket, fmt.Sprintf(`{"kind":"capture","sessionId":"s","tool":"Notification","payload":{"message":%q}}`, text))
		id, _ := r["id"].(float64)
		if first = max(first, id-float64(i)); id != first+float64(i) || id < 1 {
			t.Fatalf("capture %d: %v", i, r)
		}
		hits := siftDo(t, d.socket, fmt.Sprintf(`{"kind":"search","query":"harbour note %d"}`, i))["hits"].([]any)
		if len(hits) == 0 || !strings.Contains(fmt.Sprint(hits...), text) {
			t.Fatalf("capture %d is not found where it was captured: %v", i, hits)
		}
	}
	siftDo(t, d.socket, `{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"tool_input":{"command":"deploy zanzibar"},"tool_response":"done"}}`)
	c, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{d.nodes[other].Line.Wire}, Token: d.token, DialTimeout: suite.Patience, Patience: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	suite.Eventually(t, "the capture on another node", func() bool {
		rs, _, err := c.Recall(t.Context(), wire.Recall{Query: "zanzibar", TopK: 3})
		return err == nil && len(rs) > 0 && strings.Contains(rs[0].Text, "deploy zanzibar")
	})
	if hits := siftDo(t, elsewhere, `{"kind":"search","query":"zanzibar"}`)["hits"].([]any); len(hits) == 0 ||
		hits[0].(map[string]any)["eventId"] != first+20 {
		t.Errorf("on the other node's socket: %v", hits)
	}
	l, err := client.Dial(t.Context(),
		client.Config{Addrs: wireAddrs(d.nodes), Token: d.token, DialTimeout: suite.Patience, Patience: suite.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Remember(t.Context(), wire.NewRemember("a quokka from the wire")); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "a memory from the wire on a socket", func() bool {
		hits := siftDo(t, d.socket, `{"kind":"search","query":"quokka"}`)["hits"].([]any)
		return len(hits) > 0 && hits[0].(map[string]any)["eventId"] == nil
	})
}

// withoutLeader checks that the clients of every dialect can write on the same node as before, through the new
// leader.
func (d *dialectCluster) withoutLeader(t *testing.T) {
	siftDo(t, d.socket, `{"kind":"capture","sessionId":"s","tool":"Notification","payload":{"message":"the heron flew over"}}`)
	stringDo(t, d.followerNode(), "/remember --ns default the heron came back")
	c := covenantOf(t, d.followerNode())
	suite.Eventually(t, "an intent after the leader's death", func() bool {
		_, err := covenantAsks[any](c, map[string]any{"kind": "submit_intent", "text": "while there is a quorum"})
		return err == nil
	})
	answer := fmt.Sprint(covenantAsked[covenantRecords](t, c, map[string]any{"kind": "search_memory", "query": "heron"}).Records)
	if !strings.Contains(answer, "the heron flew over") || !strings.Contains(answer, "the heron came back") {
		t.Errorf("what the other dialects stored is not found: %s", answer)
	}
}

// covenantWithoutQuorum checks that writes are rejected with Covenant's error, and that reads succeed.
func (d *dialectCluster) covenantWithoutQuorum(t *testing.T) {
	c := covenantOf(t, d.followerNode())
	var said []string
	for range 3 {
		guard := time.AfterFunc(suite.Patience, func() { c.Close() }) // a missing answer fails the test
		_, err := covenantAsks[any](c, map[string]any{"kind": "submit_intent", "text": "no quorum is there"})
		guard.Stop()
		if err == nil {
			t.Fatal("a write without a quorum was acknowledged")
		}
		said = append(said, err.Error())
		if m := err.Error(); !strings.HasPrefix(m, "memory: no leader") && !strings.Contains(m, "outcome unknown") {
			t.Errorf("refusal %q", m)
		}
	}
	if !slices.ContainsFunc(said, func(m string) bool { return strings.HasPrefix(m, "memory: no leader") }) {
		t.Errorf("never said that there is no leader: %q", said)
	}
	if rs := covenantAsked[covenantRecords](t, c, map[string]any{"kind": "recent_memory"}).Records; len(rs) == 0 {
		t.Error("reads stopped")
	}
}

// stringdWithoutQuorum checks that a write is rejected for the lack of a leader and not after a timeout, and that reads
// succeed.
func (d *dialectCluster) stringdWithoutQuorum(t *testing.T) {
	suite.Eventually(t, "stringd to see that there is no leader", func() bool {
		got, _ := stringExec(t, d.followerNode(), "/cluster")
		return strings.Contains(got, "leader: none")
	})
	if got, ok := stringExec(t, d.followerNode(), "/remember without a quorum"); ok ||
		!strings.Contains(got, "NO_LEADER") && !strings.Contains(got, "READONLY") {
		t.Errorf("a write without a quorum: %s", got)
	}
	if got, ok := stringExec(t, d.followerNode(), "/recall fact7"); !ok || !strings.Contains(got, "fact7 about the lighthouse") {
		t.Errorf("a read without a quorum: %s", got)
	}
}

// siftWithoutQuorum checks that a capture is rejected and that reads succeed.
func (d *dialectCluster) siftWithoutQuorum(t *testing.T) {
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), suite.Patience)
		_, err := siftAsk(ctx, d.socket, fmt.Sprintf(`{"kind":"capture","sessionId":"s","tool":"X","payload":%d}`, i))
		cancel()
		var no *sift.Refusal
		if !errors.As(err, &no) {
			t.Errorf("without a quorum: %v", err)
		}
	}
	if hits := siftDo(t, d.socket, `{"kind":"search","query":"zanzibar"}`)["hits"].([]any); len(hits) == 0 {
		t.Error("reads do not go on")
	}
}
