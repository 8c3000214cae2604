package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// alone is a node of one.
func alone(t testing.TB) (*Node, api.Caller) {
	t.Helper()
	n, err := Open(t.Context(), Config{Home: t.TempDir(), Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true},
		Raft: Raft{Heartbeat: 50 * time.Millisecond, Election: 200 * time.Millisecond}, Limits: Limits{ApplyTimeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := n.Access().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	return n, c
}

// TestAMillionHitsAreFewEntries: reinforcement goes through the log in batches, and every hit counts once.
func TestAMillionHitsAreFewEntries(t *testing.T) {
	t.Parallel()
	n, c := alone(t)
	s := n.Service()
	const rows, hits = 2000, 1_000_000
	var drafts []Draft
	var answer []index.Hit
	for i := range rows {
		rid := fmt.Sprintf("m%d", i)
		drafts = append(drafts, Draft{RID: rid, Text: "memory " + rid, HalfLife: 1})
		answer = append(answer, index.Hit{Memory: &oplog.Memory{RID: rid}})
	}
	if _, err := s.Remember(t.Context(), c, "", drafts...); err != nil {
		t.Fatal(err)
	}
	before := s.commit.Applied()
	now := time.Now()
	for i := 0; i < hits; i += 10 {
		at := i % rows
		s.reinforcer.returned(c.DB, answer[at:at+10], now)
	}
	var counted uint64
	for deadline := time.Now().Add(time.Minute); counted < hits; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d hits counted", counted, hits)
		}
		if err := s.commit.WaitApplied(t.Context(), s.commit.Applied()); err != nil {
			t.Fatal(err)
		}
		select {
		case s.reinforcer.kick <- struct{}{}:
		default:
		}
		counted = 0
		if err := s.state.Read(func(v *state.View) error {
			v.Memories(c.DB, 0, func(m *oplog.Memory) bool {
				counted += m.Accesses
				return true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if entries := s.commit.Applied() - before; counted != hits || entries >= 2000 {
		t.Errorf("%d hits counted in %d entries", counted, entries)
	} else {
		t.Logf("%d hits in %d entries", counted, entries)
	}
}

// TestReinforcementIsBounded: while nobody takes it, no more than so much is kept.
func TestReinforcementIsBounded(t *testing.T) {
	t.Parallel()
	r := newReinforcer(&Service{})
	for i := range reinforceMost + 10 {
		r.add(1, oplog.Hit{RID: fmt.Sprint(i), Count: 1})
	}
	if r.rids != reinforceMost || r.dropped != 10 {
		t.Errorf("%d kept, %d dropped", r.rids, r.dropped)
	}
	got := 0
	for _, b := range r.take() {
		if len(b.hits) > reinforceOps {
			t.Errorf("a batch of %d", len(b.hits))
		}
		got += len(b.hits)
	}
	if got != reinforceMost {
		t.Errorf("%d taken", got)
	}
}
