package raft

import (
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// from returns a connection on which a member of the cluster said hello.
func from(n *Node, peer uint32) *inbound {
	return &inbound{Inbound: &transport.Inbound{Peer: wire.ClusterHello{NodeID: peer, Raft: &wire.RaftHello{}}}, n: n}
}

// TestADeposedLeaderWritesNothingInTheNewTerm: a leader hears of its successor while it waits for a record to store.
// When the record arrives, the old leader must not store it under the new term.
func TestADeposedLeaderWritesNothingInTheNewTerm(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 5)
	for range 20 {
		l := c.leader()
		next, id := l.Term()+1, l.cfg.NodeID%3+1
		if _, err := from(l, id).append(t.Context(), &wire.RaftAppend{Term: next, Leader: id, LeaderAddr: c.addrs[id-1]}); err != nil {
			t.Fatal(err)
		}
		f := l.raft.Apply([]byte("too late"), 0)
		if err := f.Error(); err == nil {
			t.Error("a deposed leader took a record")
		}
		last := l.raft.LastIndex()
		var r hraft.Log
		if err := l.logs.GetLog(last, &r); err != nil {
			t.Fatal(err)
		}
		if r.Term >= next {
			t.Fatalf("record %d bears term %d, which is another's", last, r.Term)
		}
		c.makeLeader(l)
	}
}

// TestHeartbeatsDoNotWaitForTheDisk: followers with slow disks answer heartbeats, or their leader would step down.
func TestHeartbeatsDoNotWaitForTheDisk(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	disks := map[int]*faultyDisk{0: {}, 1: {}, 2: {}}
	c := startOn(t, 3, disks)
	c.propose(0, 5)
	l := c.leader()
	c.waitLeaderKnown(l)
	slow := int(l.cfg.NodeID % 3)
	writes, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn) // otherwise nothing could close when this fails
	disks[slow].set(func(string) error {
		select {
		case writes <- struct{}{}:
		case <-goOn:
		}
		<-goOn
		return nil
	})
	if _, _, err := l.Propose(t.Context(), []byte("one disk is slow")).Wait(); err != nil {
		t.Fatal(err)
	}
	<-writes
	for range 10 {
		r, err := from(c.nodes[slow], l.cfg.NodeID).append(suite.Context(t),
			&wire.RaftAppend{Term: l.Term(), Leader: l.cfg.NodeID, LeaderAddr: l.cfg.Advertise})
		if err != nil || !r.Success || r.Term != l.Term() {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestAMessageThatWaitedIsNoNews: a suspended follower finds old messages in its sockets. It uses their acknowledged
// index only if the leader sent them after an answer from the follower's last lease.
func TestAMessageThatWaitedIsNoNews(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 5)
	l := c.leader()
	c.waitLeaderKnown(l)
	f := c.nodes[l.cfg.NodeID%3]
	c.wait("the follower to know what is acknowledged", func() bool { _, known := f.Acknowledged(); return known })
	told := func(acknowledged, heard uint64) bool {
		t.Helper()
		if _, err := from(f, l.cfg.NodeID).append(t.Context(),
			&wire.RaftAppend{Term: l.Term(), Leader: l.cfg.NodeID, LeaderAddr: l.cfg.Advertise,
				Acknowledged: acknowledged, Heard: heard}); err != nil {
			t.Fatal(err)
		}
		index, _ := f.Acknowledged()
		return index >= acknowledged
	}
	const high = 1 << 40
	lease := uint64(f.lease().Microseconds())
	for what, heard := range map[string]uint64{"no answer": 0, "an answer older than a lease": f.uptimeMicros() - lease - 1,
		"an answer to come": f.uptimeMicros() + 1<<40} {
		if told(high, heard) {
			t.Errorf("a message sent after %s was news", what)
		}
	}
	if !told(high, f.uptimeMicros()) {
		t.Error("a message sent just now was none")
	}
}
