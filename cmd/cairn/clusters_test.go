package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// longElectionMS and shortElectionMS are election timeouts in milliseconds. Most tests use the long one, so that a
// slow leader remains the leader; a leader whose process ends is replaced at once anyway. Tests with silent leaders
// use the short one, because they wait that long.
const longElectionMS, shortElectionMS = 5000, 1000

// electionMS returns an election timeout, which is longer on a slow machine.
func electionMS(ms int) int {
	return int(rafttest.Election(time.Duration(ms)*time.Millisecond) / time.Millisecond)
}

// shortElection gives a node a short election timeout.
func shortElection(n *config.NodeFile) { n.ElectionMS = electionMS(shortElectionMS) }

// singleMember returns a node with a peer port and no peers.
func singleMember(t testing.TB, env ...string) *cairntest.Node {
	t.Helper()
	dir := t.TempDir()
	p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", filepath.Join(dir, "node.toml")}, Token: home.NewSecret(), Env: env}
	n := config.LocalNode(filepath.Join(dir, "home"), 1, 1, cairntest.FreePorts(t, config.PortsEach), p.Token)
	n.Master = true
	if err := config.Write(p.Args[3], n, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// startThree starts three nodes in the given order and waits until all serve.
func startThree(t testing.TB, order ...int) (nodes []*cairntest.Node, token string) {
	t.Helper()
	return startThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, order...)
}

// startThreeIn starts three nodes below a directory, with configurations that change has modified.
func startThreeIn(t testing.TB, dir string, change func(*config.NodeFile), order ...int) (nodes []*cairntest.Node, token string) {
	t.Helper()
	nodes, token = configureThree(t, dir, change)
	startAll(t, nodes, order...)
	return nodes, token
}

// configureThree configures three nodes.
func configureThree(t testing.TB, dir string, change func(*config.NodeFile)) (nodes []*cairntest.Node, token string) {
	t.Helper()
	return configureNodes(t, dir, 3, change)
}

// configureNodes configures a number of nodes.
func configureNodes(t testing.TB, dir string, of int, change func(*config.NodeFile)) (nodes []*cairntest.Node, token string) {
	t.Helper()
	base := cairntest.FreePorts(t, of*config.PortsEach)
	token = home.NewSecret()
	files, err := config.WriteLocalCluster(dir, of, base, token, func(n *config.NodeFile) error {
		n.ElectionMS, n.Master = electionMS(longElectionMS), true
		change(n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		nodes = append(nodes, &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", path}, Token: token})
	}
	t.Cleanup(func() {
		for _, p := range nodes {
			p.Kill()
			if t.Failed() && p.Log != nil {
				t.Logf("%s:\n%s", p.Args[3], cairntest.Tail(p.Log.String(), 4000))
			}
		}
	})
	return nodes, token
}

// startAll starts nodes in the given order and waits until all serve.
func startAll(t testing.TB, nodes []*cairntest.Node, order ...int) {
	t.Helper()
	ups := make([]func(), len(nodes))
	for _, i := range order {
		ups[i] = nodes[i].Launch()
	}
	last := time.Now()
	for _, i := range order {
		ups[i]()
	}
	t.Logf("%d nodes serve %s after the last start", len(order), time.Since(last).Round(10*time.Millisecond))
}

// jsonOf runs a command that prints JSON.
func jsonOf[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	out, code := cairntest.Run(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil {
		t.Fatalf("cairn %s: exit %d, %v: %s", strings.Join(args, " "), code, err, out)
	}
	return v
}

// statusOf returns the cluster's status from a node; ok is false if the node does not answer.
func statusOf(t testing.TB, p *cairntest.Node) (s api.ClusterStatus, ok bool) {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, CA: p.CAFile, TokenText: p.Token, Timeout: 5 * time.Second}
	if p.Token == "" { // this node created its own token
		tg.TokenFile = filepath.Join(p.Line.Home, "token")
		if _, err := os.Stat(tg.TokenFile); err != nil {
			tg.TokenFile = filepath.Join(p.Line.Home, home.SecretFile)
		}
	}
	err := tg.Get(t.Context(), "GET", "/v1/cluster", nil, &s)
	return s, err == nil
}

// leaderOf waits for a leader and returns its index in nodes.
func leaderOf(t testing.TB, nodes []*cairntest.Node) (i int) {
	t.Helper()
	suite.Eventually(t, "a leader", func() bool {
		i = slices.IndexFunc(nodes, func(p *cairntest.Node) bool {
			if p.Cmd == nil {
				return false
			}
			s, ok := statusOf(t, p)
			return ok && s.Role == "Leader" && s.LeaderID != nil
		})
		return i >= 0
	})
	return i
}

// sameState waits until one node leads and all nodes have the same state, including every write that was acknowledged
// before.
func sameState(t testing.TB, nodes []*cairntest.Node) {
	t.Helper()
	if differences := stateDifference(t, nodes); differences != "" {
		t.Fatalf("states differ, or there is no leader:\n%s", differences)
	}
}

// stateDifference describes how the states of the nodes differ, or returns "" once they are equal.
func stateDifference(t testing.TB, nodes []*cairntest.Node) (differences string) {
	t.Helper()
	if suite.Within(suite.Patience, func() bool {
		differences = ""
		states := map[string]bool{}
		all, led := true, false
		for _, p := range nodes {
			s, ok := statusOf(t, p)
			all, led = all && ok, led || s.Role == "Leader"
			differences += fmt.Sprintf("node %d (%s, answers: %t) at %d: %s\n", p.Line.NodeID, s.Role, ok, s.SumIndex, s.Sum)
			states[fmt.Sprint(s.SumIndex, s.Sum)] = true
		}
		return all && led && len(states) == 1
	}) {
		return ""
	}
	return differences
}

// exportedBy returns the memories that a node exports, as a map from id to text.
func exportedBy(t testing.TB, p *cairntest.Node, token string) map[string]string {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, CA: p.CAFile, TokenText: token, Timeout: suite.Patience}
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

// checkExport checks that a node has every acknowledged memory, and none twice.
func checkExport(t testing.TB, p *cairntest.Node, token string, acked map[string]string) {
	t.Helper()
	rows := exportedBy(t, p, token)
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
