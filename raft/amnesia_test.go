package raft

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// segments returns the files of a node's log, the oldest first.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "log", "*.seg"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all
}

// loseLog contains functions that damage the log of a stopped node as a disk might.
var loseLog = map[string]func(t *testing.T, dir string){
	"removed": func(t *testing.T, dir string) {
		for _, path := range segments(t, dir) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	},
	"a vote": func(t *testing.T, dir string) {
		rafttest.Flip(t, filepath.Join(dir, "log", "votes.db"), "LastVoteTerm")
	},
	"torn": func(t *testing.T, dir string) {
		if err := os.Truncate(segments(t, dir)[0], 5000); err != nil {
			t.Fatal(err)
		}
	},
	"scribbled over": func(t *testing.T, dir string) {
		f, err := os.OpenFile(segments(t, dir)[0], os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(slices.Repeat([]byte{0xA5}, 32<<10), 0); err != nil {
			t.Fatal(err)
		}
	},
}

// TestOneNodeOutlivesItsLog: records that a cluster of one acknowledges after it lost its log survive the next start.
func TestOneNodeOutlivesItsLog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, lose := range loseLog {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1)
			want := c.propose(0, 20)
			for round := range 2 {
				c.nodes[0].Close()
				lose(t, c.dirs[0])
				c.reopen(0, "secret", nil)
				want = append(want, c.propose(20+5*round, 25+5*round)...)
				if got := c.sms[0].items(); !slices.Equal(got, want) {
					t.Fatalf("after loss %d: %q, want %q", round+1, got, want)
				}
			}
			c.nodes[0].Close()
			c.reopen(0, "secret", nil)
			want = append(want, c.propose(90, 91)...)
			if got := c.sms[0].items(); !slices.Equal(got, want) {
				t.Errorf("after a start: %q, want %q", got, want)
			}
		})
	}
}

// TestMemberRejoinsAfterLosingItsLog: a member that lost its log votes again only after the others removed its vote
// and gave it back.
func TestMemberRejoinsAfterLosingItsLog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startFastRejoin(t, 3) // only the first leader can be elected while one is away and one has no vote
	want := c.propose(0, 20)
	l := int(c.leader().cfg.NodeID - 1)
	lost, other := (l+1)%3, (l+2)%3

	c.wait("the one that is to lose its log to have one", func() bool { return slices.Equal(c.sms[lost].items(), want) })
	c.nodes[lost].Close()
	c.nodes[other].Close()
	loseLog["removed"](t, c.dirs[lost])
	c.reopen(lost, "secret", c.peers(lost))
	c.wait("the leader to speak to the one without a log",
		func() bool { _, heard := c.nodes[lost].PeerVersion(uint32(l + 1)); return heard })
	rejoin := wire.Membership{Action: "rejoin", NodeID: uint32(lost + 1), Role: "voter"}
	if _, _, err := c.nodes[l].demoteForRejoin(t.Context(), rejoin); err == nil {
		t.Fatal("the leader gave up a vote that it needs")
	}
	if s, _ := c.nodes[l].findMember(uint32(lost + 1)); s.Suffrage != hraft.Voter {
		t.Fatal("the leader takes a vote away that it needs for a majority")
	}
	if c.nodes[lost].raft.LastIndex() != 0 || !c.nodes[lost].stateless() {
		t.Fatal("it takes records for a leader that it may have voted against")
	}

	c.reopen(other, "secret", c.peers(other))
	c.electLongestLog()
	c.wait("the lost one to be whole", func() bool { return !c.nodes[lost].stateless() })
	if a := c.nodes[lost].admitted.Load(); a == nil || a.index == 0 {
		t.Errorf("it did not wait until it knew that its vote was gone: %v", a)
	}
	c.waitVoter(lost)
	c.nodes[l].Close()
	c.wait("one of two to lead, by the vote of the other", func() bool {
		a, b := c.nodes[lost], c.nodes[other]
		if a.raft.State() == hraft.Follower && b.raft.State() == hraft.Follower { // no hand-over happened
			b.campaign()
		}
		return a.IsLeader() || b.IsLeader()
	})
	want = append(want, c.propose(25, 30)...)
	c.wait("equal lists", func() bool { return slices.Equal(c.sms[lost].items(), want) })
}

// TestAMemberWithADamagedVoteIsOneWithoutState: the member does not know how it voted, so it requests its vote again.
func TestAMemberWithADamagedVoteIsOneWithoutState(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, string){"damaged": loseLog["a vote"], "gone": func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, "log", "votes.db")); err != nil {
			t.Fatal(err)
		}
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startFastRejoin(t, 3)
			want := c.propose(0, 20)
			lost := int(c.leader().cfg.NodeID) % 3
			c.wait("all records", func() bool { return slices.Equal(c.sms[lost].items(), want) })
			c.nodes[lost].Close()
			lose(t, c.dirs[lost])
			c.reopen(lost, "secret", c.peers(lost))
			if aside, _ := filepath.Glob(filepath.Join(c.dirs[lost], "log.corrupt-*")); len(aside) != 1 {
				t.Errorf("moved aside: %q", aside)
			}
			c.wait("it to be whole", func() bool { return !c.nodes[lost].stateless() })
			want = append(want, c.propose(20, 25)...)
			c.wait("equal lists", func() bool { return slices.Equal(c.sms[lost].items(), want) })
		})
	}
}

// TestPromotionSurvivesItsLeader: a member's request for a vote survives a change of leader.
func TestPromotionSurvivesItsLeader(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.propose(0, 5)
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", c.addrs[:3])
	c.wait("the newcomer to be known", func() bool { _, ok := c.leader().findMember(4); return ok })
	for _, n := range c.nodes[:3] {
		n.setPromotion(4, false) // as if the leader that admitted it had ended
	}
	c.wait("the newcomer to vote", func() bool {
		s, ok := c.leader().findMember(4)
		return ok && s.Suffrage == 0
	})
}

// TestAReplicaThatIsPromotedAtOnceGetsState: a read replica that is promoted after it joined, but before it has
// state, still gets state.
func TestAReplicaThatIsPromotedAtOnceGetsState(t *testing.T) {
	c := startWith(t, 3, &cluster{roles: map[int]string{3: "read_replica"}})
	c.propose(0, 5)
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", c.addrs[:3])
	c.wait("a leader to take the newcomer in", func() bool { return c.nodes[3].admitted.Load() != nil })
	c.wait("it to be promoted", func() bool {
		_, err := c.leader().Change(t.Context(), wire.Membership{Action: "promote", NodeID: 4, Force: true})
		return err == nil
	})
	c.wait("it to have state and a vote", func() bool {
		s, ok := c.leader().findMember(4)
		return ok && s.Suffrage == hraft.Voter && c.nodes[3].HasState()
	})
}

// TestNoVoteWithoutTheLog: a member gets no vote while its log lacks the record that made it a member, even if the
// leader's log is short.
func TestNoVoteWithoutTheLog(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 5)
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{rafttest.Addr(t)}) // its peer address has no node, so it does not join by itself, and its log is empty
	c.nodes[3].admitted.Store(&admission{index: 1})
	leader := c.leader()
	c.wait("the newcomer to answer", func() bool {
		_, ok := leader.probeFollower(hraft.Server{ID: "4", Address: hraft.ServerAddress(c.addrs[3])}, leader.readyTerm.Load(), 0, 0)
		return ok
	})
	if later, err := leader.checkPromotion(hraft.Server{ID: "4", Address: hraft.ServerAddress(c.addrs[3])},
		wire.Membership{NodeID: 4}); err != nil || !later {
		t.Errorf("a newcomer without a log may vote, %v", err)
	}
	last := leader.raft.LastIndex()
	if _, err := leader.awaitCommit(t.Context(), leader.raft.AddNonvoter("4", hraft.ServerAddress(c.addrs[3]), 0, changeTimeout)); err != nil {
		t.Fatal(err)
	}
	other, _ := leader.findMember(leader.cfg.NodeID%3 + 1)
	if has, err := leader.hasLog(other, last); err != nil || has {
		t.Errorf("a log that ends before the record of the members is enough, %v", err)
	}
	for _, n := range c.nodes[:3] {
		if n == leader {
			continue
		}
		s, _ := leader.findMember(n.cfg.NodeID)
		c.wait("the others to have the log", func() bool {
			later, err := leader.checkPromotion(s, wire.Membership{NodeID: n.cfg.NodeID})
			return err == nil && !later
		})
	}
}

// TestNoVoteWithoutState: a member whose home was emptied has the others' records again, but has no state until the
// log has its key. The leader gives it a vote only after that.
func TestNoVoteWithoutState(t *testing.T) {
	t.Parallel()
	c, want := startWithKeys(t, &cluster{})
	l := c.leader()
	victim := int(l.cfg.NodeID % 3)
	m := wire.Membership{Action: "promote", NodeID: uint32(victim + 1)}
	c.nodes[victim].Close()
	c.restartEmptyWithNewKey(victim)
	c.waitApplied(want)
	c.wait("the leader to know how far it is", func() bool {
		s, _ := l.findMember(m.NodeID)
		last, ok := l.probeFollower(s, l.readyTerm.Load(), 0, 0)
		whole, err := l.hasLog(s, last)
		return ok && whole && err == nil || c.leader() != l
	})
	if _, err := l.Change(t.Context(), m); err != nil {
		t.Error(err)
	}
	if s, _ := l.findMember(m.NodeID); s.Suffrage == hraft.Voter || c.nodes[victim].HasState() {
		t.Errorf("it has state (%v), or is a %v", c.nodes[victim].HasState(), s.Suffrage)
	}
	want = append(want, c.logKey(victim))
	c.waitVoter(victim)
	if !c.nodes[victim].HasState() {
		t.Error("a member without state has a vote")
	}
	c.waitApplied(want)
}

// TestAnOlderLeaderFillsNoMember: a member without state was admitted by a leader. It accepts nothing from a leader
// of an older term, which would count its answers and commit records that the cluster lacks.
func TestAnOlderLeaderFillsNoMember(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 5)
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{rafttest.Addr(t)}) // its peer address has no node, so it does not join by itself, and its log is empty
	n := c.nodes[3]
	n.admitted.Store(&admission{index: 2, term: 5})
	say := wire.RaftAppend{Term: 4, Leader: 1, LeaderAddr: c.addrs[0],
		Entries: []wire.RaftEntry{{Index: 1, Term: 1, Type: uint8(hraft.LogNoop)}}}
	if r, err := from(n, 1).append(t.Context(), &say); err == nil || n.raft.LastIndex() != 0 || n.Term() != 0 {
		t.Errorf("an older leader gets %+v", r)
	}
	begin := &wire.SnapshotBegin{Term: 4, Leader: 1, LeaderAddr: c.addrs[0]}
	if err := n.checkAdmitted(begin.Leader, begin.LeaderAddr, begin.Term); err == nil {
		t.Error("a snapshot of an older leader is taken")
	}
	say.Term = 5
	if r, err := from(n, 1).append(t.Context(), &say); err != nil || !r.Success {
		t.Errorf("the leader that took it in gets %+v, %v", r, err)
	}
}
