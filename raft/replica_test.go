package raft

import (
	"errors"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestRollingRestartsWithAReplica: a read replica is listed between voters in the configuration, and each member
// restarts in turn. Every member keeps the same list of members, and the cluster goes on accepting records.
func TestRollingRestartsWithAReplica(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, &cluster{roles: map[int]string{3: "read_replica"}})
	want := c.propose(0, 5)
	for i := 3; i < 5; i++ { // the replica joins first, then a voter
		c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
		c.open(i, "secret", c.addrs[:3])
		c.wait("the newcomer to be what it is to be", func() bool {
			s, ok := c.leader().findMember(uint32(i + 1))
			return ok && (s.Suffrage == hraft.Voter) == (i == 4) && c.nodes[i].HasState() // a member without state that stops gives its vote back
		})
	}
	members := func(i int) (m []Member) {
		for _, m1 := range c.nodes[i].Status().Members {
			m = append(m, Member{ID: m1.ID, Addr: m1.Addr, Voter: m1.Voter})
		}
		return m
	}
	l := int(c.leader().cfg.NodeID - 1)
	all := members(l)
	if at := slices.IndexFunc(all, func(m Member) bool { return !m.Voter }); at < 0 || at == len(all)-1 {
		t.Fatalf("no member stands behind the replica: %v", all)
	}
	for i := range c.nodes {
		if err := c.nodes[i].Close(); err != nil {
			t.Fatal(err)
		}
		c.reopen(i, "secret", slices.Concat(c.addrs[:i], c.addrs[i+1:]))
		want = append(want, c.propose(10*i+10, 10*i+15)...)
		for j := range c.nodes {
			c.wait("equal lists", func() bool { return slices.Equal(c.sms[j].items(), want) })
			if got := members(j); !slices.Equal(got, all) {
				t.Fatalf("after the restart of node %d, node %d knows %v, want %v", i+1, j+1, got, all)
			}
		}
	}
}

// TestAConfigurationReadIsNeverWritten: a node that changes the list that servers returns does not change the
// library's own list.
func TestAConfigurationReadIsNeverWritten(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, &cluster{roles: map[int]string{0: "read_replica"}}) // the replica is the first in the sorted list of members
	n := c.leader()
	before := slices.Clone(n.servers())
	for _, list := range [][]hraft.Server{n.servers(), n.voters()} {
		clear(list)
	}
	n.isOnlyVoter()
	n.rank(0)
	n.successor()
	if got := n.servers(); !slices.Equal(got, before) {
		t.Errorf("the configuration was %v and is %v", before, got)
	}
}

// TestAReplicaIsGivenNoLead: a hand-over to a member without a vote is rejected, and the leader stays.
func TestAReplicaIsGivenNoLead(t *testing.T) {
	t.Parallel()
	c := startWith(t, 4, &cluster{roles: map[int]string{0: "read_replica"}})
	c.wait("the replica to be a member", func() bool {
		s, ok := c.leader().findMember(1)
		return ok && s.Suffrage != hraft.Voter && c.nodes[0].HasState()
	})
	c.propose(0, 5)
	_, err := c.leader().Change(t.Context(), wire.Membership{Action: "transfer", NodeID: 1})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("a hand-over to a read replica: %v, want it refused", err)
	}
	if l := c.leader(); l.cfg.NodeID == 1 {
		t.Error("the read replica leads")
	}
}
