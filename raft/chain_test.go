package raft

import (
	"slices"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/transport"
)

// TestAnotherRecordOfTheSameTerm: a member has another record than all others where index and term are the same, which the library
// never looks at. The hash of the records shows it, and the member stops.
func TestAnotherRecordOfTheSameTerm(t *testing.T) {
	t.Parallel()
	c := startCalm(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	i := int(l.cfg.NodeID % 3)
	f := c.nodes[i]
	c.wait("the follower to have all, and the leader's chain", func() bool {
		return slices.Equal(c.sms[i].items(), want) && f.chain.End().Origin != 0 && f.chain.End() == l.chain.End()
	})
	end := l.end()
	req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: end.Index, PrevLogTerm: end.Term, LeaderCommitIndex: end.Index + 1,
		Entries: []*hraft.Log{{Index: end.Index + 1, Term: end.Term, Type: hraft.LogCommand, Data: []byte("changed on the way")}}}
	var resp hraft.AppendEntriesResponse
	if err := l.transport.AppendEntries(transport.ServerID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[i]), req, &resp); err != nil || !resp.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
	c.propose(10, 12)
	c.wait("it to stop", func() bool { return f.contradiction.Load() != nil })
	for j, n := range c.nodes {
		if j != i && n.contradiction.Load() != nil {
			t.Errorf("node %d stops as well", j+1)
		}
	}
}

// TestTheChainGoesOn: over snapshots and restarts a member goes on with its chain, and one that is brought up to date by a snapshot
// takes the leader's over.
func TestTheChainGoesOn(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startCalm(t, 3)
	want := c.propose(0, 10)
	agree := func() bool {
		l := c.leader()
		end := l.chain.End()
		for i, n := range c.nodes {
			if !slices.Equal(c.sms[i].items(), want) || n.chain.End() != end || end.Origin == 0 {
				return false
			}
		}
		return true
	}
	more := func() bool { // a member without a chain takes the leader's over at a record that it is given
		want = append(want, c.propose(len(want), len(want)+1)...)
		return suite.Within(2*time.Second, agree)
	}
	c.wait("equal chains", more)
	origin := c.leader().chain.End().Origin
	for i, n := range c.nodes {
		if err := n.Snapshot(); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		c.reopen(i, "secret", c.peers(i))
		if got := c.nodes[i].chain.End(); got.Origin != origin || got.Index == 0 {
			t.Errorf("node %d goes on with %+v", i+1, got)
		}
		c.leadAny()
	}
	c.wait("equal chains", more)
	if got := c.leader().chain.End().Origin; got != origin {
		t.Errorf("the chain began anew")
	}
	i := int(c.leader().cfg.NodeID % 3)
	c.nodes[i].Close()
	c.leader().Snapshot()
	if err := c.leader().logs.DeleteRange(1, c.leader().raft.LastIndex()-2); err != nil { // as the library does in the end
		t.Fatal(err)
	}
	c.empty(i)
	c.wait("equal chains with one that needed a snapshot", more)
	if c.sms[i].restored == 0 {
		t.Error("it was not brought up to date by a snapshot")
	}
	for j, n := range c.nodes {
		if err := n.contradiction.Load(); err != nil {
			t.Errorf("node %d: %v", j+1, *err)
		}
	}
}
