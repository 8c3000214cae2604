package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestRecordsThatTheClusterLostAreImported stops the leader and starts old copies of the homes of the other two
// nodes. They elect a leader that lacks the records since the copies. The old leader, started again, must keep its
// records; every node must name them. It rejoins, and an operator imports the lost records into the cluster.
func TestRecordsThatTheClusterLostAreImported(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 0, 1, 2)
	acked := map[string]string{}
	put := func(to []*cairntest.Node, what string) {
		t.Helper()
		c := connect(t, to, token)
		for i := range 10 {
			putAndRecord(t, c, wire.NewRemember(fmt.Sprintf("%s %d", what, i)), acked)
		}
	}
	put(nodes, "before the copies")
	var changed string // stored after the copies, then lost
	for changed = range acked {
		break
	}
	sameState(t, nodes)
	at := leaderOf(t, nodes)
	old, others := nodes[at], []*cairntest.Node{nodes[(at+1)%3], nodes[(at+2)%3]}
	end := func() uint64 { s, _ := statusOf(t, old); return uint64(s.SumIndex) }
	for copied := uint64(0); copied != end(); { // repeat if a record arrives between the two copies
		copied = end()
		for _, p := range others {
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.RemoveAll(p.Line.Home+".copy"), rafttest.CopyHome(p.Line.Home+".copy", p.Line.Home)); err != nil {
				t.Fatal(err)
			}
			p.Launch()()
		}
	}
	put([]*cairntest.Node{old}, "since the copies")
	cairn := func(to *cairntest.Node, args ...string) {
		t.Helper()
		if out, code := cairntest.Run(t, append(args, "--endpoints", to.Line.HTTP, "--token", token)...); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
	}
	cairn(old, "correct", changed, "--importance", "0.9", "--reason", "it matters")
	sameState(t, nodes)
	if leaderOf(t, nodes) != at {
		t.Fatal("another node leads")
	}
	if err := old.Stop(); err != nil { // so that its disk has all committed records
		t.Fatal(err)
	}
	for _, p := range others {
		p.Kill()
		if err := os.RemoveAll(p.Line.Home); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(p.Line.Home+".copy", p.Line.Home); err != nil {
			t.Fatal(err)
		}
	}
	ups := []func(){others[0].Launch(), others[1].Launch()}
	for _, up := range ups {
		up()
	}
	put(others, "without them")
	cairn(others[0], "forget", changed)
	delete(acked, changed)
	old.Launch()
	old.ExpectFailure("a majority of the voters holds something else than this node")
	if !strings.Contains(old.Log.String(), `level=ERROR msg="this node holds records that the cluster lacks, and keeps them"`) {
		t.Errorf("it does not say what it keeps:\n%s", cairntest.Tail(old.Log.String(), 3000))
	}
	old.Launch()()
	for _, p := range nodes {
		if !suite.Within(suite.Patience, func() bool {
			out, _ := cairntest.Run(t, "cluster", "status", "--endpoints", p.Line.HTTP, "--token", token)
			return strings.Contains(out, fmt.Sprintf("node %d  keeps records", old.Line.NodeID)) &&
				p.WaitForLog(`level=ERROR msg="a node keeps records that the cluster lacks`)
		}) {
			t.Errorf("node %d does not name them:\n%s", p.Line.NodeID, cairntest.Tail(p.Log.String(), 3000))
		}
	}
	kept, err := filepath.Glob(filepath.Join(old.Line.Home, "raft.corrupt-*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	log := filepath.Base(kept[0])
	if out, code := cairntest.Run(t, "recover", "--config", old.Args[3], "--lost"); code != 0 || !strings.Contains(out, log+"  records ") {
		t.Errorf("exit %d: %s", code, out)
	}
	imports := cairntest.Command(t.Context(), "recover", "--config", old.Args[3], "--import-lost", log)
	out, err := imports.CombinedOutput()
	output := string(out)
	if code := imports.ProcessState.ExitCode(); code != cli.ExitFailed ||
		!strings.Contains(output, "entries imported, 0 were there already") ||
		!strings.Contains(output, "1 entries were refused; their records stay in "+kept[0]) {
		t.Fatalf("exit %d, %v: %s", code, err, output)
	}
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
	if out, _ := cairntest.Run(t, "recover", "--config", old.Args[3], "--lost"); !strings.Contains(out, "keeps no records that the cluster lacks") {
		t.Errorf("after the import: %s", out)
	}
}
