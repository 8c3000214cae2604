package raft

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/transport"
)

func (c *cluster) peers(i int) []string { return slices.Concat(c.addrs[:i], c.addrs[i+1:]) }

// restartEmpty starts a stopped node on an empty home.
func (c *cluster) restartEmpty(i int) {
	c.t.Helper()
	if err := os.RemoveAll(c.dirs[i]); err != nil {
		c.t.Fatal(err)
	}
	c.sms[i] = &listMachine{}
	c.reopen(i, "secret", c.peers(i))
}

// requireNoVote makes one node ask another for a pre-vote and a vote, and fails the test if it gets either.
func (c *cluster) requireNoVote(candidate, voter int) {
	c.t.Helper()
	n := c.nodes[candidate]
	index, term := n.lastRecord()
	var pre hraft.RequestPreVoteResponse
	err := n.transport.RequestPreVote(transport.ServerID(uint32(voter+1)), hraft.ServerAddress(c.addrs[voter]),
		&hraft.RequestPreVoteRequest{Term: n.Term() + 1, LastLogIndex: index, LastLogTerm: term}, &pre)
	if err == nil && pre.Granted {
		c.t.Errorf("node %d grants node %d a vote before the vote", voter+1, candidate+1)
	}
	var vote hraft.RequestVoteResponse
	err = n.transport.RequestVote(transport.ServerID(uint32(voter+1)), hraft.ServerAddress(c.addrs[voter]),
		&hraft.RequestVoteRequest{Term: n.Term() + 1, LastLogIndex: index, LastLogTerm: term}, &vote)
	if err == nil && vote.Granted {
		c.t.Errorf("node %d grants node %d a vote", voter+1, candidate+1)
	}
	if pe := (*transport.PeerError)(nil); !c.nodes[voter].HasState() &&
		(!errors.As(err, &pe) || pe.Text != "this node has no state to vote with") {
		c.t.Errorf("node %d does not say why it gives no vote: %v", voter+1, err)
	}
}

// TestAnEmptyHomeGivesNoVote: a leader and some members acknowledge records, and then the members' homes are emptied.
// If these members elected one that was away, the records would be lost. They must be there when the leader is back.
func TestAnEmptyHomeGivesNoVote(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprint(size, " members"), func(t *testing.T) {
			c := startFastRejoin(t, size)
			want := c.propose(0, 10)
			l := int(c.leader().cfg.NodeID - 1)
			var emptied, behind []int // members that acknowledge; members that are away
			for k := 1; k < size; k++ {
				if i := (l + k) % size; len(emptied) < size/2 {
					emptied = append(emptied, i)
				} else {
					behind = append(behind, i)
				}
			}
			for i := range size {
				c.wait("all to have all", func() bool { return slices.Equal(c.sms[i].items(), want) })
			}
			for _, i := range behind {
				c.nodes[i].Close()
			}
			want = append(want, c.propose(10, 20)...)
			for _, i := range append([]int{l}, emptied...) {
				c.nodes[i].Close()
			}
			for _, i := range emptied {
				c.restartEmpty(i)
			}
			for _, i := range behind {
				c.reopen(i, "secret", c.peers(i))
				for _, e := range emptied {
					c.requireNoVote(i, e)
				}
			}
			if t.Failed() {
				return
			}
			c.reopen(l, "secret", c.peers(l))
			c.electLongestLog()
			want = append(want, c.propose(20, 25)...)
			for i := range size {
				c.wait("equal lists", func() bool { return slices.Equal(c.sms[i].items(), want) })
				c.wait("all to vote again", func() bool {
					s, _ := c.leader().findMember(uint32(i + 1))
					return c.nodes[i].HasState() && s.Suffrage == hraft.Voter
				})
			}
		})
	}
}

// TestTwoEmptyHomesOfThreeElectNoLeader: the member with state neither leads nor lets the others found a second
// cluster. After its operator gives up the others, it leads, and brings them up to date.
func TestTwoEmptyHomesOfThreeElectNoLeader(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startFastRejoin(t, 3)
	want := c.propose(0, 10)
	for i := range 3 {
		c.wait("all to have all", func() bool { return slices.Equal(c.sms[i].items(), want) })
	}
	for i := range 3 {
		c.nodes[i].Close()
	}
	c.restartEmpty(1)
	c.restartEmpty(2)
	c.reopen(0, "secret", c.peers(0))
	c.requireNoVote(0, 1)
	c.requireNoVote(0, 2)
	if _, _, all := c.nodes[1].foundingVoters(); all {
		t.Error("a node without state would found a cluster beside one that has state")
	}
	c.nodes[0].campaign()
	c.wait("the election to be over", func() bool { return c.nodes[0].Term() > 2 })
	if c.nodes[0].raft.State() == hraft.Leader || c.nodes[1].hasConfiguration() || c.nodes[2].hasConfiguration() {
		t.Fatal("somebody leads")
	}
	c.nodes[0].Close()
	if err := Recover(Config{NodeID: 1, Dir: c.dirs[0], Addr: c.addrs[0]}, c.sms[0]); err != nil {
		t.Fatal(err)
	}
	c.reopen(0, "secret", c.peers(0))
	want = append(want, c.propose(10, 15)...)
	for i := range 3 {
		c.wait("equal lists", func() bool { return slices.Equal(c.sms[i].items(), want) })
		c.wait("all to vote", func() bool { s, ok := c.leader().findMember(uint32(i + 1)); return ok && s.Suffrage == hraft.Voter })
	}
}

// TestAFounderAsksTwice: a founder that got no answer in time repeats its request while the first one runs. The
// member is founded once, and keeps its vote at its next start.
func TestAFounderAsksTwice(t *testing.T) {
	t.Parallel()
	for range 5 {
		c := &cluster{t: t, addrs: []string{rafttest.Addr(t), rafttest.Addr(t)}, nodes: make([]*Node, 2), sms: make([]*listMachine, 2)}
		c.open(0, "secret", c.addrs[1:]) // the other one does not run
		n := c.nodes[0]
		all := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: hraft.ServerAddress(c.addrs[0])},
			{ID: "2", Address: hraft.ServerAddress(c.addrs[1])}}}
		var asks sync.WaitGroup
		for range 8 {
			asks.Go(func() { _ = n.storeFounding(all) }) // one succeeds
		}
		asks.Wait()
		if _, err := os.Stat(n.amnesiaFile()); !errors.Is(err, os.ErrNotExist) || !n.HasState() || len(n.servers()) != 2 {
			t.Fatalf("it has state: %v, members %v; its mark: %v", n.HasState(), n.servers(), err)
		}
		n.Close()
	}
}

// TestAFoundingThatBrokeOffIsCompleted: some founding members have the configuration, but the founder stopped before
// it stored its own.
func TestAFoundingThatBrokeOffIsCompleted(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for _, founded := range [][]int{{1}, {1, 2}} {
		t.Run(fmt.Sprint(len(founded), " of 3 founded"), func(t *testing.T) {
			c := &cluster{t: t, nodes: make([]*Node, 3), sms: make([]*listMachine, 3)}
			var all hraft.Configuration
			for i := range 3 {
				c.addrs = append(c.addrs, rafttest.Addr(t))
				all.Servers = append(all.Servers,
					hraft.Server{ID: transport.ServerID(uint32(i + 1)), Address: hraft.ServerAddress(c.addrs[i])})
			}
			for i := 2; i > 0; i-- {
				c.open(i, "secret", c.peers(i))
			}
			for _, i := range founded { // as the founder's message does
				if err := c.nodes[i].storeFounding(all); err != nil {
					t.Fatal(err)
				}
			}
			if len(founded) == 1 { // one founded member alone is not a majority
				c.requireNoVote(1, 2)
			}
			c.open(0, "secret", c.peers(0))
			want := c.propose(0, 10)
			for i := range 3 {
				c.wait("equal lists", func() bool { return slices.Equal(c.sms[i].items(), want) && c.nodes[i].HasState() })
			}
		})
	}
}
