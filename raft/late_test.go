package raft

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// TestALateSnapshotTakesNothingBack: a snapshot arrives so late that the member has already applied more.
func TestALateSnapshotTakesNothingBack(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	l := c.leader()
	leader, follower := int(l.cfg.NodeID-1), int(l.cfg.NodeID%3)
	want := c.propose(0, 10)
	index, term := c.sms[leader].Applied()
	old, err := c.sms[leader].Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, c.propose(10, 30)...)
	has := func() bool { return slices.Equal(c.sms[follower].items(), want) }
	c.wait("the follower to have all", has)
	servers := l.raft.GetConfiguration()
	if err := servers.Error(); err != nil {
		t.Fatal(err)
	}
	body := old.(image).body
	req := &hraft.InstallSnapshotRequest{Term: l.Term(), LastLogIndex: index, LastLogTerm: term, Size: int64(len(body)),
		Configuration: hraft.EncodeConfiguration(servers.Configuration()), ConfigurationIndex: servers.Index()}
	var resp hraft.InstallSnapshotResponse
	err = l.transport.InstallSnapshot(transport.ServerID(uint32(follower+1)), hraft.ServerAddress(c.addrs[follower]), req,
		&resp, bytes.NewReader(body))
	if err != nil || !resp.Success || resp.Term != l.Term() {
		t.Errorf("got %+v, %v", resp, err)
	}
	if !has() {
		t.Errorf("the follower has %d records of %d", len(c.sms[follower].items()), len(want))
	}
	want = append(want, c.propose(30, 40)...)
	c.wait("the follower to go on", has)
}

// TestALateHandOverDeposesNoLeader: a TimeoutNow arrives late, from a node that no longer leads.
func TestALateHandOverDeposesNoLeader(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 1)
	l := c.leader()
	leader, term := int(l.cfg.NodeID-1), l.Term()
	old, follower := c.nodes[(leader+1)%3], (leader+2)%3
	c.wait("the follower to know who leads", func() bool { return slices.Equal(c.sms[follower].items(), want) })
	for _, to := range []int{follower, leader} {
		var pe *transport.PeerError
		err := old.transport.TimeoutNow(transport.ServerID(uint32(to+1)), hraft.ServerAddress(c.addrs[to]), nil, nil)
		if !errors.As(err, &pe) || pe.Code != wire.CodeNotLeader {
			t.Errorf("node %d: got %v", to+1, err)
		}
	}
	if !l.IsLeader() || l.Term() != term {
		t.Errorf("leadership moved: term %d became %d", term, l.Term())
	}
}

// TestRecordsBehindTheLog: a leader that has lost track of a member sends records that the member already has, and
// the member's log no longer has the record before them.
func TestRecordsBehindTheLog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	l := c.leader()
	follower := int(l.cfg.NodeID % 3)
	want := c.propose(0, 30)
	has := func() bool { return slices.Equal(c.sms[follower].items(), want) }
	c.wait("the follower to have all", has)
	f := c.nodes[follower]
	last := f.raft.LastIndex()
	if err := f.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := f.logs.DeleteRange(1, last-3); err != nil { // the library does so eventually
		t.Fatal(err)
	}
	if err := f.Close(); err != nil { // restart, to empty its cache
		t.Fatal(err)
	}
	c.reopen(follower, "secret", slices.Delete(slices.Clone(c.addrs), follower, follower+1))
	f = c.nodes[follower]
	c.wait("the follower to be back", func() bool { id, _, ok := f.Leader(); return ok && id == l.cfg.NodeID })
	for _, prev := range []uint64{5, last - 4, last - 2} {
		req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: prev}
		for i := prev; i <= last; i++ {
			var r hraft.Log
			if err := l.logs.GetLog(i, &r); err != nil {
				t.Fatal(err)
			}
			if i == prev {
				req.PrevLogTerm = r.Term
				continue
			}
			req.Entries = append(req.Entries, &r)
		}
		var resp hraft.AppendEntriesResponse
		err := l.transport.AppendEntries(transport.ServerID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[follower]), req, &resp)
		if err != nil || !resp.Success || resp.LastLog < last {
			t.Errorf("from %d on: %+v, %v", prev, resp, err)
		}
	}
	want = append(want, c.propose(30, 40)...)
	c.wait("the follower to go on", has)
}

// TestADeposedLeaderIsNotConfirmed: voters that follow another leader say so when they are asked, whatever they
// answered before.
func TestADeposedLeaderIsNotConfirmed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 5)
	old := c.leader()
	term := old.readyTerm.Load()
	if err := old.confirm(t.Context(), term); err != nil {
		t.Fatal(err)
	}
	next := c.nodes[old.cfg.NodeID%3]
	c.makeLeader(next)
	c.waitLeaderKnown(next) // until it knows the next leader, a member follows the old one
	if err := old.checkQuorum(old.voters(), term); err == nil {
		t.Error("a leader of the term before is confirmed")
	}
	if err := next.confirm(t.Context(), next.readyTerm.Load()); err != nil {
		t.Errorf("the one that leads is not: %v", err)
	}
}
