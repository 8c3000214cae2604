package cairntest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Status is the cluster as a node sees it; not ok when the node does not answer.
func Status(t testing.TB, p *Node) (s api.ClusterStatus, ok bool) {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, CA: p.Ca, Timeout: 5 * time.Second}
	err := tg.Get(t.Context(), "GET", "/v1/cluster", nil, &s)
	return s, err == nil
}

// Leader is the place in nodes of the one that leads, once one does.
func Leader(t testing.TB, nodes []*Node) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for i, p := range nodes {
			if p.Cmd == nil {
				continue
			}
			if s, ok := Status(t, p); ok && s.Role == "Leader" && s.LeaderID != nil {
				return i
			}
		}
	}
	t.Fatal("no leader")
	return -1
}

// SameState returns when all nodes are where one is that leads: what was acknowledged before is there, on every one of them.
func SameState(t testing.TB, nodes []*Node) {
	t.Helper()
	if said := Differing(t, nodes); said != "" {
		t.Fatalf("states differ, or there is no leader:\n%s", said)
	}
}

// Differing says how the nodes' states differ, when they go on doing so.
func Differing(t testing.TB, nodes []*Node) (said string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		said = ""
		states := map[string]bool{}
		all, led := true, false
		for _, p := range nodes {
			s, ok := Status(t, p)
			all, led = all && ok, led || s.Role == "Leader"
			said += fmt.Sprintf("node %d (%s, answers: %t) at %d: %s\n", p.Line.NodeID, s.Role, ok, s.SumIndex, s.Sum)
			states[fmt.Sprint(s.SumIndex, s.Sum)] = true
		}
		if all && led && len(states) == 1 {
			return ""
		}
	}
	return said
}

// Exported is what a node holds: text by id.
func Exported(t testing.TB, p *Node, token string) map[string]string {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, CA: p.Ca, TokenText: token, Timeout: time.Minute}
	r, err := tg.Request(t.Context(), "GET", "/v1/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := map[string]string{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var row struct{ RID, Text string }
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.RID == "" { // a relation
			continue
		}
		if _, twice := rows[row.RID]; twice {
			t.Errorf("node %d has %s twice", p.Line.NodeID, row.RID)
		}
		rows[row.RID] = row.Text
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// CheckExport compares what a node holds with what was acknowledged: everything is there, and nothing twice.
func CheckExport(t testing.TB, p *Node, token string, acked map[string]string) {
	t.Helper()
	rows := Exported(t, p, token)
	texts := map[string]int{}
	for _, text := range rows {
		texts[text]++
	}
	for rid, text := range acked {
		if rows[rid] != text {
			t.Errorf("node %d lost %s (%q)", p.Line.NodeID, rid, text)
		}
		if texts[text] != 1 {
			t.Errorf("node %d has %q %d times", p.Line.NodeID, text, texts[text])
		}
	}
}
