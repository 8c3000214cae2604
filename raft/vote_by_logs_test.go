package raft

import (
	"slices"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// TestAVoterThatWasAwayElectsANewcomer: while voter 3 is away, node 4 joins as a voter and voter 2 is removed. Then
// voter 1, the leader, ends. Voters 3 and 4 are a majority of the remaining ones, and only node 4 has every record.
// Node 3, which has never heard of node 4, elects it.
func TestAVoterThatWasAwayElectsANewcomer(t *testing.T) {
	suite.Full(t)
	c := startFastRejoin(t, 3)
	want := c.propose(0, 5)
	l := int(c.leader().cfg.NodeID - 1)
	away, removed := (l+1)%3, (l+2)%3
	c.wait("all to have all", func() bool {
		return slices.Equal(c.sms[away].items(), want) && slices.Equal(c.sms[removed].items(), want)
	})
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{c.addrs[l], c.addrs[removed]})
	c.wait("the newcomer to vote", func() bool {
		s, ok := c.leader().findMember(4)
		return ok && s.Suffrage == hraft.Voter
	})
	if _, err := c.nodes[l].Change(t.Context(), wire.Membership{Action: "remove", NodeID: uint32(removed + 1)}); err != nil {
		t.Fatal(err)
	}
	c.nodes[removed].Close()
	want = append(want, c.propose(5, 10)...)
	c.wait("the newcomer to have all", func() bool { return slices.Equal(c.sms[3].items(), want) })
	c.nodes[l].closeConnections() // without a hand-over
	c.reopen(away, "secret", c.peers(away))
	c.wait("the newcomer to lead", c.nodes[3].IsLeader)
	c.nodes[l].Close()
	want = append(want, c.propose(10, 15)...)
	c.wait("both to have all", func() bool {
		return slices.Equal(c.sms[3].items(), want) && slices.Equal(c.sms[away].items(), want)
	})
}

// TestAStateThatIsBehindFollowsANewcomer: a voter stops before any of its state is on disk. Node 4 joins meanwhile
// and leads. The voter has never heard of it, and knows the cluster's id only from its log.
func TestAStateThatIsBehindFollowsANewcomer(t *testing.T) {
	c := startFastRejoin(t, 3)
	want := c.propose(0, 5)
	l := int(c.leader().cfg.NodeID - 1)
	away := (l + 1) % 3
	c.wait("it to have all", func() bool { return slices.Equal(c.sms[away].items(), want) })
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{c.addrs[l]})
	c.wait("the newcomer to vote", func() bool {
		s, ok := c.leader().findMember(4)
		return ok && s.Suffrage == hraft.Voter && c.nodes[3].HasState()
	})
	c.wait("the newcomer to lead", func() bool {
		_, _ = c.leader().Change(t.Context(), wire.Membership{Action: "transfer", NodeID: 4}) // succeeds once it has caught up
		return c.nodes[3].IsLeader()
	})
	c.sms[away] = &listMachine{}
	c.reopen(away, "secret", c.peers(away))
	want = append(want, c.propose(5, 10)...)
	c.wait("it to have all again", func() bool { return slices.Equal(c.sms[away].items(), want) })
}

// TestAStrangerWithAShorterLogGetsNoVote: a voter without a leader grants an unknown candidate its vote only if the
// candidate's log is at least as long. Otherwise it keeps its term.
func TestAStrangerWithAShorterLogGetsNoVote(t *testing.T) {
	suite.Full(t)
	c := startFastRejoin(t, 3)
	want := c.propose(0, 5)
	l := c.leader()
	f := c.nodes[l.cfg.NodeID%3]
	c.wait("it to have all", func() bool { return slices.Equal(c.sms[f.cfg.NodeID-1].items(), want) })
	c.wait("it to have the leader's barrier", func() bool { return f.raft.LastIndex() == l.raft.LastIndex() })
	index, term := f.lastRecord()
	now := f.Term()
	stranger := &Node{cfg: Config{NodeID: 99, Role: "voter", Credentials: Credentials{Secret: "secret"},
		Advertise: "127.0.0.1:1", Hello: (&listMachine{Items: want}).hello}.withDefaults()}
	network := stranger.newTransport(nil)
	defer network.Close()
	p := network.Pool
	ask := func(v wire.RaftVote) (granted bool) {
		t.Helper()
		v.Candidate, v.Addr = 99, "127.0.0.1:1"
		conn, err := p.Dial(t.Context(), f.Advertised(), transport.ForHeartbeat)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Drop(conn)
		deadline := time.Now().Add(suite.Patience)
		if err := conn.Send(deadline, wire.OpRequestVote,
			&wire.RequestVote{Term: v.Term, CandidateID: 99, LastLogHLC: []byte{}, Raft: &v}); err != nil {
			t.Fatal(err)
		}
		answer, err := conn.Next(deadline)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Op == wire.OpVoteGranted
	}
	refuse := func(what string, v wire.RaftVote) {
		t.Helper()
		for _, v.PreVote = range []bool{true, false} {
			if ask(v) || f.Term() != now {
				t.Errorf("one that %s: got a vote (before the vote %v), or moved term %d to %d", what, v.PreVote, now, f.Term())
			}
		}
	}
	refuse("stands against a leader", wire.RaftVote{Term: now + 1, LastIndex: index, LastTerm: term})
	for _, n := range c.nodes { // close the leader last: otherwise the third would stand for election and change the term
		if n != f && n != l {
			n.closeConnections()
		}
	}
	l.closeConnections()
	c.wait("it to know no leader", func() bool {
		_, _, led := f.Leader()
		return !led
	})
	now = f.Term()
	refuse("has less", wire.RaftVote{Term: now + 1, LastIndex: index - 1, LastTerm: term})
	refuse("has more of an older term", wire.RaftVote{Term: now + 1, LastIndex: index + 9, LastTerm: term - 1})
	refuse("stands in a term that is over", wire.RaftVote{Term: now - 1, LastIndex: index, LastTerm: term})
	for _, pre := range []bool{true, false} {
		if !ask(wire.RaftVote{Term: now + 9, LastIndex: index, LastTerm: term, PreVote: pre}) {
			t.Errorf("one that has as much got no vote (before the vote: %v)", pre)
		}
	}
}

// TestABrokenSnapshotLeavesAVote: a leader's snapshot breaks off while its receiver stands for election, and the
// leader ends. The receiver still grants its vote to another candidate.
func TestABrokenSnapshotLeavesAVote(t *testing.T) {
	t.Parallel()
	c := startFastRejoin(t, 3)
	want := c.propose(0, 5)
	l := c.leader()
	f := c.nodes[l.cfg.NodeID%3]
	other := int(f.cfg.NodeID % 3)
	c.wait("all to have all", func() bool {
		return !slices.ContainsFunc(c.sms, func(sm *listMachine) bool { return !slices.Equal(sm.items(), want) }) &&
			f.raft.LastIndex() == l.raft.LastIndex()
	})
	index, term := f.lastRecord()
	servers := l.raft.GetConfiguration()
	if err := servers.Error(); err != nil {
		t.Fatal(err)
	}
	begin := wire.SnapshotBegin{Term: l.Term(), Leader: l.cfg.NodeID, LeaderAddr: l.cfg.Advertise, LastIndex: index + 10, LastTerm: term,
		Configuration: hraft.EncodeConfiguration(servers.Configuration()), ConfigurationIndex: servers.Index(), Size: 1 << 10}
	c.nodes[other].closeConnections() // close the leader last: otherwise the two others could elect one and change the term
	l.closeConnections()
	c.wait("it to stand for election", func() bool { return f.raft.State() == hraft.Candidate })
	from := c.forger(int(l.cfg.NodeID-1), c.identity(int(l.cfg.NodeID-1)), false)
	c.wait("the snapshot to break off", func() bool {
		if err := from.BreakSnapshot(t.Context(), f.Advertised(), begin); err != nil {
			t.Fatal(err)
		}
		return suite.Within(time.Second, f.stranded)
	})
	candidate := c.forger(other, c.identity(other), false)
	for _, pre := range []bool{true, false} {
		granted, err := candidate.Vote(t.Context(), f.Advertised(),
			wire.RaftVote{Term: f.Term() + 1, LastIndex: index, LastTerm: term, PreVote: pre, Addr: c.addrs[other]})
		if err != nil || granted == nil || !granted.Granted {
			t.Errorf("before the vote %v: %+v, %v", pre, granted, err)
		}
	}
	less := wire.RaftVote{Term: f.Term() + 1, LastIndex: index - 1, LastTerm: term, PreVote: true, Addr: c.addrs[other]}
	if r, err := candidate.Vote(t.Context(), f.Advertised(), less); err == nil && r != nil && r.Granted {
		t.Error("one that has less gets a vote")
	}
}
