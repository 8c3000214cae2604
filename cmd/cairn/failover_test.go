package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestWritesGoOnSoonAfterALeaderDies checks that a leader whose process ends is replaced long before the election
// timeout. One client keeps retrying. The fastest of three failovers counts, because the protocol allows occasional
// split votes.
func TestWritesGoOnSoonAfterALeaderDies(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it measures, which the race detector falsifies")
	const silence = 30 * time.Second
	nodes, token := startThreeIn(t, t.TempDir(), func(n *config.NodeFile) { n.ElectionMS = int(silence / time.Millisecond) }, 1, 2, 0)
	c := connect(t, nodes, token)
	acked := map[string]string{}
	write := func(text string) {
		t.Helper()
		putAndRecord(t, c, wire.NewRemember(text), acked)
	}
	write("before anybody dies")
	var took []time.Duration
	for i := range 3 {
		l := leaderOf(t, nodes)
		nodes[l].Kill()
		start := time.Now()
		write(fmt.Sprint("after death ", i))
		took = append(took, time.Since(start))
		nodes[l].Launch()()
	}
	t.Logf("writes were accepted again after %v", took)
	if soonest := slices.Min(took); soonest > silence/2 {
		t.Errorf("a write waited %s at least: the silence was waited for", soonest)
	}
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
}

// TestABatchIsAllOrNothing kills the leader during a batch of a thousand memories.
func TestABatchIsAllOrNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "one client, whose leader is killed and reports no race")
	nodes, token := startThree(t, 0, 1, 2)
	const size, rounds = 1000, 4
	batch := func(round int) (b wire.RememberBatch) {
		for i := range size {
			b.Memories = append(b.Memories, wire.NewRemember(fmt.Sprintf("batch %d memory %d", round, i)))
		}
		return b
	}
	c := connect(t, nodes, token)
	for round := range rounds - 1 {
		start := time.Now()
		if _, err := c.RememberBatch(t.Context(), batch(round)); err != nil {
			t.Fatal(err)
		}
		t.Logf("a batch takes %s", time.Since(start))
	}
	last, dying := batch(rounds-1), nodes[leaderOf(t, nodes)]
	c = connect(t, []*cairntest.Node{dying}, token) // connect to the dying node only
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	process := dying.Cmd.Process
	time.AfterFunc(3*time.Millisecond, func() { process.Signal(syscall.SIGKILL) })
	_, err := c.RememberBatch(ctx, last)
	t.Logf("the leader dies: %v", err)
	dying.Kill()
	dying.Launch()()
	sameState(t, nodes)
	for _, p := range nodes {
		counts := map[string]int{}
		for _, text := range exportedBy(t, p, token) {
			name, _, _ := strings.Cut(text, " memory ")
			counts[name]++
		}
		for round := range rounds {
			name := fmt.Sprint("batch ", round)
			if n := counts[name]; n != size && (round < rounds-1 || n != 0) {
				t.Errorf("node %d has %d of %s", p.Line.NodeID, n, name)
			}
		}
	}
}
