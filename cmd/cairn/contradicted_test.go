package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/wire"
)

// TestAContradictedMemberStops: a member that was given up comes back with its old home, in which records are applied that the node that went
// on has never had. It stops at once and serves nothing, says so in its log, to the doctor, in status and metrics, keeps its files, and
// comes back at its next start as one without state, with what the cluster has.
func TestAContradictedMemberStops(t *testing.T) {
	nodes, token := startThreeIn(t, t.TempDir(), inHaste, 0, 1, 2)
	put := func(to []*nodeProcess, into map[string]string, what string, count int) {
		t.Helper()
		c := connect(t, to, token)
		for i := range count {
			text := fmt.Sprintf("%s number %d", what, i)
			rid, err := putOnce(t.Context(), c, wire.NewRemember(text))
			if err != nil {
				t.Fatal(err)
			}
			into[rid] = text
		}
	}
	acked := map[string]string{}
	put(nodes, acked, "lighthouse", 10)
	sameState(t, nodes)
	ahead := leaderOf(t, nodes)
	stays, old, gone := nodes[(ahead+1)%3], nodes[ahead], nodes[(ahead+2)%3]
	if _, err := stays.stop(); err != nil {
		t.Fatal(err)
	}
	put([]*nodeProcess{old, gone}, map[string]string{}, "castle", 10)
	if _, err := old.stop(); err != nil { // its state is on the disk
		t.Fatal(err)
	}
	gone.kill()
	if out, code := cli(t, "cluster", "recover", "--config", stays.args[3], "--give-up", fmt.Sprintf("%d,%d", old.line.NodeID, gone.line.NodeID)); code != 0 {
		t.Fatalf("recover: exit %d, %s", code, out)
	}
	stays.launch()()
	put([]*nodeProcess{stays}, acked, "windmill", 12) // under the numbers that the old home has for castles
	old.launch()                                      // which its operator was told not to do
	castles := func() bool {
		out, code := cli(t, "recall", "castle", "--addr", old.line.Wire, "--token", token)
		return code == 0 && strings.Contains(out, "castle number")
	}
	if !eventually(castles) {
		t.Fatal("the old home answers nothing")
	}
	if out, code := cli(t, "cluster", "join", "--url", stays.line.HTTP, "--node-id", fmt.Sprint(old.line.NodeID), "--peer-addr", old.line.Cluster, "--token", token); code != 0 {
		t.Fatalf("join: exit %d, %s", code, out)
	}
	old.ends("the leader's log contradicts what this node has applied: record")
	if !strings.Contains(old.log.String(), `level=ERROR msg="the leader's log contradicts what this node has applied`) {
		t.Errorf("it logs no error:\n%s", tailOf(old.log.String(), 3000))
	}
	if castles() {
		t.Error("it goes on answering")
	}
	if out, code := cli(t, "doctor", "--config", old.args[3]); code != exitFailed || !strings.Contains(out, "in the leader's log") || !strings.Contains(out, "moves state and log aside") {
		t.Errorf("doctor of the stopped member: exit %d, %s", code, out)
	}
	if out, _ := cli(t, "cluster", "status", "--url", stays.line.HTTP, "--token", token); !strings.Contains(out, fmt.Sprintf("node %d unreachable", old.line.NodeID)) {
		t.Errorf("status of the other while it is down:\n%s", out)
	}
	old.launch()()
	sameState(t, []*nodeProcess{stays, old})
	checkExport(t, old, token, acked)
	if aside := movedAside(t, old.line.Home); len(aside) < 2 {
		t.Errorf("of its home only %q is kept", aside)
	}
	for _, p := range []*nodeProcess{stays, old} { // each member tells it of the others, too
		if !eventually(func() bool {
			out, _ := cli(t, "cluster", "status", "--url", p.line.HTTP, "--token", token)
			return strings.Contains(out, fmt.Sprintf("node %d  has moved files aside", old.line.NodeID))
		}) {
			t.Errorf("status of node %d does not name what was moved aside", p.line.NodeID)
		}
	}
	tg := target{http: old.line.HTTP, timeout: 5 * time.Second}
	r, err := tg.request(t.Context(), "GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if m, err := io.ReadAll(r); err != nil || !strings.Contains(string(m), "\ncairn_set_aside 2\n") {
		t.Errorf("metrics: %v\n%s", err, m)
	}
	if out, _ := cli(t, "doctor", "--config", old.args[3]); !strings.Contains(out, "moved aside, unreadable or contradicted") {
		t.Errorf("doctor: %s", out)
	}
	if !slices.ContainsFunc(movedAside(t, old.line.Home), func(path string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(raw), "castle number")
	}) {
		t.Error("what the cluster has lost is in none of the files that are kept")
	}
}
