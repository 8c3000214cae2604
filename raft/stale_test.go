package raft

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/transport"
	hraft "github.com/hashicorp/raft"
)

// TestASnapshotBelowRecordsOfADeposedLeader: a leader without followers stores records that are never committed, more
// of them than the others write. Then it gets a snapshot that ends in the middle of these records.
func TestASnapshotBelowRecordsOfADeposedLeader(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 10)
	old := c.leader()
	lone := int(old.cfg.NodeID - 1)
	others := []int{(lone + 1) % 3, (lone + 2) % 3}
	peers := func(i int) []string { return slices.Concat(c.addrs[:i], c.addrs[i+1:]) }
	c.wait("all to have all", func() bool {
		return slices.Equal(c.sms[others[0]].items(), want) && slices.Equal(c.sms[others[1]].items(), want)
	})
	before := old.raft.LastIndex()
	for _, i := range others {
		if err := c.nodes[i].Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		old.raft.Apply(fmt.Appendf(nil, "not followed %d", i), 0)
	}
	c.wait("them to be in its log", func() bool { return old.raft.LastIndex() >= before+10 })
	tail := old.raft.LastIndex()
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for _, i := range others {
		c.reopen(i, "secret", peers(i))
	}
	c.nodes[lone] = nil
	c.makeLeader(c.nodes[others[0]])
	want = append(want, c.propose(10, 14)...)
	l := c.leader()
	c.wait("both to have all", func() bool {
		return slices.Equal(c.sms[others[0]].items(), want) && slices.Equal(c.sms[others[1]].items(), want)
	})
	for _, i := range others { // the library does so eventually
		if err := c.nodes[i].Snapshot(); err != nil {
			t.Fatal(err)
		}
		if err := c.nodes[i].logs.DeleteRange(1, c.nodes[i].raft.LastIndex()-2); err != nil {
			t.Fatal(err)
		}
	}
	if l.raft.LastIndex() >= tail {
		t.Fatalf("the others have written to %d, and the lone leader to %d", l.raft.LastIndex(), tail)
	}
	c.reopen(lone, "secret", peers(lone))
	c.wait("the deposed one to have all", func() bool { return slices.Equal(c.sms[lone].items(), want) })
	want = append(want, c.propose(14, 20)...)
	c.wait("it to go on", func() bool { return slices.Equal(c.sms[lone].items(), want) })

	f := c.nodes[lone]
	c.makeLeader(f)
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", peers(3)) // it needs every record
	c.wait("a newcomer to have all, and nothing else", func() bool { return slices.Equal(c.sms[3].items(), want) })
}

// TestALeadersCommitReachesNoFurtherThanItsRecords: a leader's commit index may exceed the records that it sends, and
// the member's own records up to there may be another leader's.
func TestALeadersCommitReachesNoFurtherThanItsRecords(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	i := int(l.cfg.NodeID % 3)
	f := c.nodes[i]
	has := func() bool { return slices.Equal(c.sms[i].items(), want) }
	c.wait("the follower to have all", has)
	index, term := f.lastRecord()
	var stale []*hraft.Log
	for at := range uint64(3) {
		stale = append(stale, &hraft.Log{Index: index + 1 + at, Term: term - 1, Type: hraft.LogCommand, Data: []byte("never counted")})
	}
	f.storeDirectly(t, l, &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: index, PrevLogTerm: term, Entries: stale})
	var resp hraft.AppendEntriesResponse
	req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: index, PrevLogTerm: term, LeaderCommitIndex: index + 3}
	if err := l.transport.AppendEntries(transport.ServerID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[i]), req, &resp); err != nil ||
		!resp.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
	if !has() {
		t.Errorf("the follower has %q", c.sms[i].items())
	}
	want = append(want, c.propose(10, 20)...)
	c.wait("the follower to go on", has)
}
