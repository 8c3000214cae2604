package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestStatesMovedAsideArePutBack follows the runbook divergence.md for the case that two healthy members have moved
// their states aside, and the third member, which kept its state, is the wrong one. No leader may appear, and nothing
// may be lost.
func TestStatesMovedAsideArePutBack(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThreeIn(t, t.TempDir(), shortElection, 0, 1, 2)
	c := connect(t, nodes, token)
	acked := map[string]string{}
	for i := range 20 {
		putAndRecord(t, c, wire.NewRemember(fmt.Sprint("kept ", i)), acked)
	}
	sameState(t, nodes)
	right, wrong := nodes[:2], nodes[2]
	for _, p := range nodes {
		p.Kill()
	}
	for _, p := range right {
		if err := home.WriteNote(home.Config{Dir: p.Line.Home}, home.DamageFile, errors.New("a guard that was wrong")); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range nodes {
		p.Launch()
	}
	for _, p := range right {
		if !suite.Within(suite.Patience, func() bool { return len(movedAside(t, p.Line.Home)) == 2 }) {
			t.Fatalf("node %d moved %q", p.Line.NodeID, movedAside(t, p.Line.Home))
		}
	}
	for _, p := range nodes { // 1
		p.Kill()
	}
	for _, p := range right {
		in := func(name string) string { return filepath.Join(p.Line.Home, name) }
		for _, aside := range movedAside(t, p.Line.Home) { // 3
			name := filepath.Base(aside[:len(aside)-len(filepath.Ext(aside))])
			if err := errors.Join(os.RemoveAll(in(name)), os.Rename(aside, in(name))); err != nil {
				t.Fatal(err)
			}
		}
		for _, mark := range []string{"damaged", "suspect", "raft/amnesia"} { // 4
			if err := os.RemoveAll(in(mark)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Rename(wrong.Line.Home, wrong.Line.Home+".away"); err != nil { // 5
		t.Fatal(err)
	}
	startAll(t, nodes, 0, 1) // 6
	startAll(t, nodes, 2)
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
}
