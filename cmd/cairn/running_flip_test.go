package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestDamageOfARunningNodeIsNamedAndHealed flips bits of a member's index while it is stopped, and of its tables
// while it runs. Reads of the tables must fail, and metrics, the status of every member and the doctor must name the
// node, the files and the remedy. The node must stop once the others can heal it, and after its next start it must
// have the same state.
func TestDamageOfARunningNodeIsNamedAndHealed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	nodes, token := configureThree(t, t.TempDir(), func(*config.NodeFile) {})
	startAll(t, nodes, 0, 1, 2)
	c := connect(t, nodes, token)
	acked := map[string]string{}
	for i := range 400 { // enough for an index with files, so that a start does not read the whole state
		m := wire.NewRemember(fmt.Sprintf("lighthouse number %04d has a keeper", i))
		putAndRecord(t, c, m, acked)
	}
	sameState(t, nodes)
	lead := leaderOf(t, nodes)
	leader, victim, other := nodes[lead], nodes[(lead+1)%3], nodes[(lead+2)%3]
	if err := victim.Stop(); err != nil { // so that its state is in tables
		t.Fatal(err)
	}
	words, err := filepath.Glob(filepath.Join(victim.Line.Home, "index", "*", "text", "*.zap"))
	if err != nil || len(words) == 0 {
		t.Fatalf("its index has no files: %v", err)
	}
	for _, path := range words {
		rafttest.FlipOne(t, path, rand.New(rand.NewPCG(1, 2)))
	}
	victim.Launch()()
	sameState(t, nodes)
	if err := other.Stop(); err != nil { // with only one other member the victim cannot heal, so it keeps running
		t.Fatal(err)
	}
	before, ok := statusOf(t, victim)
	if !ok || before.Store.Damaged != 0 || before.Store.Tables == 0 || before.Store.Bytes == 0 {
		t.Fatalf("before the damage: %+v", before.Store)
	}

	rafttest.FlipTables(t, filepath.Join(victim.Line.Home, "state"))
	refused := 0
	for rid, text := range acked {
		var got struct{ Text string }
		tg := cli.Target{Endpoints: []string{victim.Line.HTTP}, TokenText: token, Timeout: 5 * time.Second}
		var said *cli.HTTPError
		switch err := tg.Get(t.Context(), "GET", "/v1/memory/"+rid, nil, &got); {
		case errors.As(err, &said) && said.Status == http.StatusInternalServerError:
			refused++
		case err != nil:
			t.Fatal(err)
		case got.Text != text:
			t.Fatalf("it answers %q for %q", got.Text, text)
		}
	}
	if refused == 0 {
		t.Error("no damaged block was read")
	}

	if n := metricOf(t, victim, "cairn_damaged_blocks_total"); n == 0 {
		t.Error("the metric has not moved")
	}
	s := jsonOf[api.ClusterStatus](t, "status", "--endpoints", victim.Line.HTTP, "--token", token)
	if s.Store.Damaged == 0 || len(s.Damaged) == 0 || s.Damaged[0].Kind != "state" || s.Damaged[0].Times == 0 || s.Damaged[0].Healed {
		t.Fatalf("status: %+v, %+v", s.Store, s.Damaged)
	}
	file := s.Damaged[0].File
	if _, err := os.Stat(filepath.Join(victim.Line.Home, file)); err != nil {
		t.Errorf("it names %q: %v", file, err)
	}
	last := s.Damaged[len(s.Damaged)-1]
	if last.Kind != "index" || last.Database != "default" || !last.Healed || last.Times != 1 ||
		!slices.Contains(words, filepath.Join(victim.Line.Home, last.File)) {
		t.Errorf("the index was damaged when it was opened, and status says %+v", s.Damaged)
	}
	for _, p := range []*cairntest.Node{victim, leader} { // each member also reports it about the others
		out, _ := cairntest.Run(t, "status", "--endpoints", p.Line.HTTP, "--token", token)
		if !strings.Contains(out, fmt.Sprintf("node %d  found damage in its state: ", victim.Line.NodeID)) ||
			!strings.Contains(out, file) || !strings.Contains(out, "make sure that it is restarted") ||
			!strings.Contains(out,
				fmt.Sprintf("node %d  found damage in its index of database default: %s (once)\n        what it held was read from the state instead: check the disk",
					victim.Line.NodeID, last.File)) {
			t.Errorf("status of node %d:\n%s", p.Line.NodeID, out)
		}
		list, code := cairntest.RunForJSON[[]doctor.Finding](t, "doctor", "--config", p.Args[3], "--json")
		named, index := false, false
		for _, f := range list {
			named = named || f.Status == doctor.Fail &&
				strings.HasPrefix(f.Says, fmt.Sprintf("node %d found damage in its state: ", victim.Line.NodeID)) &&
				strings.Contains(f.Says, file) && strings.Contains(f.Do, "make sure that it is restarted")
			index = index || f.Status == doctor.Warn && strings.Contains(f.Says, last.File) && strings.Contains(f.Do, "check the disk")
		}
		if !named || !index || code != cli.ExitFailed {
			t.Errorf("doctor of node %d, exit %d: %+v", p.Line.NodeID, code, list)
		}
	}

	other.Launch()()
	victim.ExpectFailure("the next start heals it")
	victim.Launch()()
	sameState(t, nodes)
	checkExport(t, victim, token, acked)
	if after, ok := statusOf(t, victim); !ok || after.Store.Damaged != 0 || len(after.Damaged) != 0 || len(after.SetAside) == 0 {
		t.Errorf("after it was healed: %+v, %+v, moved aside %q", after.Store, after.Damaged, after.SetAside)
	}
}

// metricOf returns the value of a node's metric that has no labels.
func metricOf(t *testing.T, p *cairntest.Node, name string) (n float64) {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, Timeout: 5 * time.Second}
	r, err := tg.Request(t.Context(), "GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	_, rest, found := strings.Cut(string(all), "\n"+name+" ")
	if _, e := fmt.Sscan(rest, &n); err != nil || e != nil || !found {
		t.Fatalf("no metric %s: %v, %v", name, err, e)
	}
	return n
}
