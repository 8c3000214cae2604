package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/store"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestAnAlteredTextReachesNoOtherMember alters a text in the state of one member, below the checksums. The member
// leads, takes a snapshot, and sends it to a member with an empty home. That member must reject the snapshot and log
// the reason. Once another member leads, both must heal.
func TestAnAlteredTextReachesNoOtherMember(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := configureThree(t, t.TempDir(), func(*config.NodeFile) {}) // the leader stays
	for _, p := range nodes {
		change(t, p.Args[3], func(b []byte) []byte {
			return bytes.Replace(b, []byte("[cluster]\n"),
				[]byte("[cluster]\nsnapshot_threshold = 16\nsnapshot_interval_ms = 100\ntrailing_logs = 8\n"), 1)
		})
	}
	startAll(t, nodes, 0, 1, 2)
	acked := map[string]string{}
	put := func(to []*cairntest.Node, what string) {
		t.Helper()
		c := connect(t, to, token)
		for i := range 40 {
			putAndRecord(t, c, wire.NewRemember(fmt.Sprintf("%s %d", what, i)), acked)
		}
	}
	put(nodes, "the castle was true")
	sameState(t, nodes)
	for _, p := range nodes {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	wrong, right, wiped := nodes[0], nodes[1], nodes[2]
	alterState(t, wrong.Line.Home, "castle was true 7", "castle was fals 7")
	startAll(t, nodes, 0, 1)
	lead := func(p *cairntest.Node, of ...*cairntest.Node) {
		t.Helper()
		suite.Eventually(t, fmt.Sprintf("node %d to lead", p.Line.NodeID), func() bool {
			if at := leaderOf(t, of); of[at] == p {
				return true
			}
			_, _ = cairntest.Run(t, "cluster", "transfer", "--node-id", fmt.Sprint(p.Line.NodeID), "--endpoints",
				p.Line.HTTP, "--token", token)
			return false
		})
	}
	lead(wrong, wrong, right)
	put(nodes[:2], "since it was altered") // enough records for snapshots
	lead(wrong, wrong, right)
	if err := os.RemoveAll(wiped.Line.Home); err != nil {
		t.Fatal(err)
	}
	up := wiped.Launch()
	if !wiped.WaitForLog("the leader's snapshot is refused: its rows are not what the leader summed") {
		t.Fatalf("it refuses no snapshot:\n%s", cairntest.Tail(wiped.Log.String(), 3000))
	}
	lead(right, wrong, right)
	up()
	if !wrong.WaitForLog("the next start heals it") {
		t.Fatalf("it does not find what is altered:\n%s", cairntest.Tail(wrong.Log.String(), 3000))
	}
	wrong.ExpectFailure()
	wrong.Launch()()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
}

// alterState replaces a text in the state of a stopped node and recomputes the checksums, as if memory had been
// corrupted before the write.
func alterState(t *testing.T, home, from, to string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(home, "state", "[0-9]*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	s, err := store.Open(dirs[0], store.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Batch()
	altered := 0
	err = b.Walk(nil, nil, false, func(key, value []byte) bool {
		if bytes.Contains(value, []byte(from)) {
			altered++
			err = b.Set(bytes.Clone(key), bytes.ReplaceAll(value, []byte(from), []byte(to)))
		}
		return err == nil
	})
	if err == nil {
		err = b.Commit()
	}
	b.Close()
	if cerr := s.Close(); err != nil || cerr != nil || altered == 0 {
		t.Fatal(err, cerr, altered)
	}
}
