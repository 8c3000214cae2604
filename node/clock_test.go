package node_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestAClockSeventyYearsAhead lets the leader's clock jump. The log's time continues, the leader reports the clock
// and hands over, a retry stores nothing twice, and the report ends when the clock is corrected.
func TestAClockSeventyYearsAhead(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const ahead = 70 * 365 * 24 * time.Hour
	skews := make([]atomic.Int64, 3)
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Raft.Election = rafttest.Election(3 * time.Second)
		cfg.Seams.Now = func() time.Time { return time.Now().Add(time.Duration(skews[i].Load())) }
	})
	first := c.leader()
	s, caller := c.service(first)
	key := func(s *engine.Service, caller api.Caller) bool {
		t.Helper()
		caller.Forward = true
		w, err := remember(t.Context(), s, caller, "the same request", api.Draft{Text: "stored once"})
		if err != nil {
			t.Fatal(err)
		}
		return w.Replayed
	}
	if key(s, caller) {
		t.Fatal("the first request was taken for a retry")
	}
	c.agree()
	skews[first].Store(int64(ahead))
	if !key(s, caller) { // stamped by the leader whose clock is off
		t.Error("a retry stored twice")
	}
	if _, err := remember(t.Context(), s, caller, "", api.Draft{Text: "while the clock is off"}); err != nil {
		t.Fatal(err)
	}
	c.agree()
	if off := time.Until(c.nodes[first].State().Last().Time().Time()); off > 2*time.Second {
		t.Errorf("the log's time is %s ahead", off)
	}
	suite.Eventually(t, "another leader", func() bool { id := s.Cluster().KnownLeader().ID; return id != nil && int(*id) != first+1 })
	if st := s.Cluster().Status(t.Context()); !st.ClockOff || st.ClockOffset < float64(ahead.Milliseconds())/2 {
		t.Errorf("status: off %v by %v ms", st.ClockOff, st.ClockOffset)
	}
	if got, want := s.Cluster().Status(t.Context()).Condition, fmt.Sprintf("degraded: clock of node %d off", first+1); got != want {
		t.Errorf("condition: %q, want %q", got, want)
	}
	if !key(s, caller) {
		t.Error("a retry stored twice under the next leader")
	}
	skews[first].Store(0)
	suite.Eventually(t, "a right clock", func() bool { return !s.Cluster().Status(t.Context()).ClockOff })
}

// TestALoneClockThatJumps checks that on a single node the log's time continues from its last value when the clock
// jumps.
func TestALoneClockThatJumps(t *testing.T) {
	t.Parallel()
	var skew atomic.Int64
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Seams.Now = func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	})
	s, caller := c.service(0)
	put := func() (at oplog.Time) {
		t.Helper()
		if _, err := remember(t.Context(), s, caller, "", api.Draft{Text: "a memory"}); err != nil {
			t.Fatal(err)
		}
		return c.nodes[0].State().Last().Time()
	}
	put()
	skew.Store(int64(70 * 365 * 24 * time.Hour))
	if ahead := time.Until(put().Time()); ahead > 2*time.Second {
		t.Errorf("the log's time is %s ahead", ahead)
	}
	if st := s.Cluster().Status(t.Context()); !st.ClockOff {
		t.Errorf("status says nothing: %v ms", st.ClockOffset)
	}
}
