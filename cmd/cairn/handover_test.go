package main

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestHandover checks that the command that runs before a node is stopped transfers leadership, and that it does
// nothing on a follower and on a single node.
func TestHandover(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThree(t, 0, 1, 2)
	sameState(t, nodes)
	old := nodes[leaderOf(t, nodes)]
	out, code := cairntest.Run(t, "cluster", "handover", "--endpoints", old.Line.HTTP, "--token", token)
	if code != 0 || !strings.HasSuffix(strings.TrimSpace(out), "leads") {
		t.Fatalf("exit %d, %s", code, out)
	}
	var s api.ClusterStatus
	if !suite.Within(suite.Patience, func() (ok bool) {
		s, ok = statusOf(t, old)
		return ok && s.Role != "Leader" && s.LeaderID != nil && *s.LeaderID != s.NodeID
	}) {
		t.Errorf("the old leader after it: %+v", s)
	}
	now := -1
	if !suite.Within(suite.Patience, func() bool { // an unrelated election may happen in between
		now = leaderOf(t, nodes)
		if out, code := cairntest.Run(t, "cluster", "handover", "--endpoints", nodes[(now+1)%3].Line.HTTP, "--token", token); code != 0 ||
			!strings.Contains(out, "leads") {
			t.Errorf("of a follower: exit %d, %s", code, out)
		}
		return leaderOf(t, nodes) == now
	}) {
		t.Error("a follower's handover moves leadership")
	}
	for i, p := range nodes {
		if i != now {
			p.Kill()
		}
	}
	c := cairntest.Command(t.Context(), "cluster", "handover", "--endpoints", nodes[now].Line.HTTP, "--token", token, "--timeout", "3s")
	if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != cli.ExitFailed ||
		!strings.Contains(string(out), "no other node leads yet: no quorum, ") {
		t.Errorf("with no voter to take it: %s, %s", c.ProcessState, out)
	}
	c = cairntest.Command(t.Context(), "undo", "01a22be7-c201-7b32-8583-5924684c12fc", "--endpoints", nodes[now].Line.HTTP, "--token", token)
	if out, _ := c.CombinedOutput(); !strings.Contains(string(out), "no quorum, ") || strings.Contains(string(out), "linearizable") {
		t.Errorf("an undo without a quorum: %s", out)
	}
	c = cairntest.Command(t.Context(), "stats", "--endpoints", nodes[now].Line.Cluster, "--token", token)
	if out, _ := c.CombinedOutput(); !strings.Contains(string(out), "this is the peer port") || !strings.Contains(string(out), "hint: name a port for clients") {
		t.Errorf("a client at the peer port: %s", out)
	}
	_, home := cairntest.StartDev(t)
	if out, code := cairntest.Run(t, "cluster", "handover", "--home", home); code != 0 ||
		!strings.Contains(out, "no other voter to hand over to") {
		t.Errorf("of a node alone: exit %d, %s", code, out)
	}
}
