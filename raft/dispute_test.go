package raft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// forgeries returns requests that a hostile or broken member may send, by the kind of error. term is the cluster's
// term, last its newest record.
var forgeries = map[string]func(term uint64, last recovery.Position) wire.RaftAppend{
	"another term at an applied index": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term + 1}
	},
	"another record at an applied index": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index - 1, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index, Term: term + 1, Data: []byte("another")}}}
	},
	"seven bytes of garbage": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 1, Data: []byte("\xffgarbage")[:7]}}}
	},
	"members that cannot be decoded": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 1, Type: uint8(hraft.LogConfiguration), Data: []byte("none")}}}
	},
	"members without a voter": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 1, Type: uint8(hraft.LogConfiguration),
				Data: hraft.EncodeConfiguration(hraft.Configuration{})}}}
	},
	"a kind that the log uses for its marks": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 1, Type: 255}}}
	},
	"records that do not follow each other": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 1, Data: []byte("a")},
				{Index: last.Index + 9, Term: term + 1, Data: []byte("b")}}}
	},
	"a record behind nothing": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, Entries: []wire.RaftEntry{{Index: last.Index + 100, Term: term + 1, Data: []byte("a")}}}
	},
	"a record of a term to come": func(term uint64, last recovery.Position) wire.RaftAppend {
		return wire.RaftAppend{Term: term + 1, PrevIndex: last.Index, PrevTerm: last.Term,
			Entries: []wire.RaftEntry{{Index: last.Index + 1, Term: term + 2, Data: []byte("a")}}}
	},
	"a term that is the last": func(uint64, recovery.Position) wire.RaftAppend { return wire.RaftAppend{Term: 1<<64 - 1} },
	"the term of the leader":  func(term uint64, _ recovery.Position) wire.RaftAppend { return wire.RaftAppend{Term: term} },
}

// TestForgedRequestsChangeNothing: a member sends invalid requests to each other member. They reject and report them,
// and keep term, log, state and vote; the cluster goes on.
func TestForgedRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	hostile := l.cfg.NodeID%3 + 1
	victims := slices.DeleteFunc(slices.Clone(c.nodes), func(n *Node) bool { return n.cfg.NodeID == hostile })
	for _, sm := range c.sms {
		c.wait("all records", func() bool { return slices.Equal(sm.items(), want) })
	}
	for name, forge := range forgeries {
		for _, v := range victims {
			term, last := v.Term(), v.logEnd()
			c.wait("the barrier to be applied", func() bool { return v.raft.AppliedIndex() == last.Index })
			v.disputes.mu.Lock()
			v.disputes.byPeer = nil // no earlier rejection counts
			v.disputes.mu.Unlock()
			m := forge(term, last)
			m.Leader, m.LeaderAddr, m.Commit = hostile, c.addrs[hostile-1], last.Index+1
			if r, err := from(v, hostile).append(t.Context(), &m); err == nil {
				t.Errorf("%s: node %d answers %+v", name, v.cfg.NodeID, r)
			}
			if got := v.logEnd(); v.Term() != term || got != last || !v.HasState() {
				t.Errorf("%s: node %d has term %d and ends at %v; it had %d and %v", name, v.cfg.NodeID, v.Term(), got, term, last)
			}
			if d := v.Disputes(); len(d) != 1 || d[0].Peer != hostile || d[0].Says == "" {
				t.Errorf("%s: node %d says %+v", name, v.cfg.NodeID, d)
			}
		}
	}
	snapshot := &wire.SnapshotBegin{Term: l.Term() + 1, Leader: hostile, LastIndex: 1000, LastTerm: l.Term() + 1,
		Configuration: []byte("none")}
	for _, v := range victims {
		if err := v.validateSnapshot(snapshot); err == nil {
			t.Errorf("node %d takes a snapshot whose members cannot be decoded", v.cfg.NodeID)
		}
	}
	if !l.IsLeader() {
		t.Error("the leader was deposed")
	}
	want = append(want, c.propose(10, 20)...)
	for i, sm := range c.sms {
		c.wait("all records", func() bool { return slices.Equal(sm.items(), want) })
		if why, moved := c.steppedAside.Load(i); moved {
			t.Errorf("node %d stepped aside: %v", i+1, why)
		}
	}
}

// TestTheOthersDecide: a follower rejects its leader's claim about an applied record, and asks the third member. That
// one has the same record, so the follower reports that the leader is wrong. It goes on following the leader until
// the leader is wrong repeatedly.
func TestTheOthersDecide(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	f := c.nodes[l.cfg.NodeID%3]
	for _, sm := range c.sms {
		c.wait("all records", func() bool { return slices.Equal(sm.items(), want) })
	}
	last := f.logEnd()
	wrong := &wire.RaftAppend{Term: l.Term(), Leader: l.cfg.NodeID, LeaderAddr: l.cfg.Advertise, PrevIndex: last.Index,
		PrevTerm: last.Term + 1}
	vote := &wire.RaftVote{Term: l.Term() + 1, Candidate: l.cfg.NodeID, LastIndex: last.Index, LastTerm: last.Term, PreVote: true}
	for i := range distrustAfter {
		if err := f.checkTrusted(l.cfg.NodeID); err != nil {
			t.Errorf("after %d: %v", i, err)
		}
		if _, err := from(f, l.cfg.NodeID).append(t.Context(), wrong); err == nil {
			t.Error("it is not refused")
		}
	}
	c.wait("a verdict", func() bool {
		d := f.Disputes()
		return len(d) == 1 && strings.Contains(d[0].Verdict, "hold the same record")
	})
	if _, err := from(f, l.cfg.NodeID).append(t.Context(),
		&wire.RaftAppend{Term: l.Term(), Leader: l.cfg.NodeID, LeaderAddr: l.cfg.Advertise}); err == nil {
		t.Error("it follows a leader that it refuses again and again")
	}
	if err := f.checkTrusted(vote.Candidate); err == nil {
		t.Error("it would vote for it")
	}
	if _, moved := c.steppedAside.Load(int(f.cfg.NodeID - 1)); moved || !f.HasState() {
		t.Error("it stepped aside")
	}
}

// TestALeaderWhoseMemoryIsWrong: a bit of a record changes in a leader's memory before the others have it. They
// reject the record, which they cannot decode, and elect another leader, whose records the old one accepts.
func TestALeaderWhoseMemoryIsWrong(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: it changes memory beside its readers, as the race detector sees")
	}
	c := startFastRejoin(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	for i, n := range c.nodes {
		c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
		if n != l {
			n.Close()
		}
	}
	l.Propose(t.Context(), []byte("\xeentry, of which a bit changes"))
	var r hraft.Log
	c.wait("the record to be stored", func() bool {
		return l.records.GetLog(l.raft.LastIndex(), &r) == nil && strings.HasSuffix(string(r.Data), "changes")
	})
	r.Data[0] |= 0x11 // first byte 0xFF: wrong in memory, correct on disk
	for i, n := range c.nodes {
		if n != l {
			c.reopen(i, "secret", c.peers(i))
		}
	}
	c.wait("another leader", func() bool {
		return slices.ContainsFunc(c.nodes, func(n *Node) bool { return n != l && n.IsLeader() })
	})
	want = append(want, c.propose(10, 20)...)
	for i, sm := range c.sms {
		c.wait(fmt.Sprintf("node %d to have all records", i+1), func() bool { return slices.Equal(sm.items(), want) })
		if why, moved := c.steppedAside.Load(i); moved {
			t.Errorf("node %d stepped aside: %v", i+1, why)
		}
	}
}

// startDiverged makes a cluster go on without some records that one member has applied, and starts that member with
// its old home, against the instructions to operators. ahead is that member; want are the items of the others.
func startDiverged(t *testing.T, fresh bool) (c *cluster, ahead int, want []string) {
	c = startFastRejoin(t, 3)
	early := c.propose(0, 10)
	l := int(c.leader().cfg.NodeID - 1)
	behind, third := (l+1)%3, (l+2)%3
	c.wait("all records", func() bool { return slices.Equal(c.sms[behind].items(), early) })
	c.nodes[behind].Close()
	c.propose(10, 20)
	c.wait("what will be lost", func() bool { return len(c.sms[l].items()) == 20 })
	for i := range 3 {
		c.nodes[i].Close()
	}
	if err := Recover(Config{NodeID: uint32(behind + 1), Dir: c.dirs[behind], Addr: c.addrs[behind]}, c.sms[behind]); err != nil {
		t.Fatal(err)
	}
	c.reopen(behind, "secret", c.peers(behind))
	want = append(early, c.propose(20, 25)...)
	if fresh {
		c.open(third, "secret", c.peers(third))
		c.wait("the third to be a member", func() bool { return slices.Equal(c.sms[third].items(), want) && c.nodes[third].HasState() })
	}
	c.reopen(l, "secret", c.peers(l))
	if _, err := c.leader().Change(t.Context(),
		wire.Membership{Action: "join", NodeID: uint32(l + 1), Addr: c.addrs[l], Role: "voter"}); err != nil {
		t.Fatal(err)
	}
	return c, l, want
}

// TestAMemberThatAMajorityContradictsStepsAside: two of three voters hold other records than the member has applied.
func TestAMemberThatAMajorityContradictsStepsAside(t *testing.T) {
	t.Parallel()
	c, ahead, want := startDiverged(t, true)
	c.wait("it to step aside", func() bool { _, aside := c.steppedAside.Load(ahead); return aside })
	if c.nodes[ahead].HasState() {
		t.Error("it would vote")
	}
	if n := len(c.sms[ahead].items()); n != 20 {
		t.Errorf("its state went on to %d records", n)
	}
	c.nodes[ahead].Close()
	aside, err := Discard(c.dirs[ahead])
	if err != nil || aside == "" {
		t.Fatalf("its home is not kept: %q, %v", aside, err)
	}
	c.sms[ahead] = &listMachine{}
	c.reopen(ahead, "secret", c.peers(ahead))
	c.wait("all records, and a vote", func() bool { return slices.Equal(c.sms[ahead].items(), want) && c.nodes[ahead].HasState() })
	for i := range c.nodes {
		if why, moved := c.steppedAside.Load(i); moved && i != ahead {
			t.Errorf("node %d stepped aside: %v", i+1, why)
		}
	}
}

// TestOnePeerMovesNoMember: one of three voters answers, and contradicts the member. The member accepts nothing from
// it, reports that, and goes on.
func TestOnePeerMovesNoMember(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c, ahead, _ := startDiverged(t, false)
	n := c.nodes[ahead]
	c.wait("it to refuse its leader", func() bool { return len(n.Disputes()) > 0 })
	c.wait("it to follow it no more", func() bool { return n.checkTrusted(n.Disputes()[0].Peer) != nil })
	n.resolveDispute(n.Disputes()[0])
	if why, moved := c.steppedAside.Load(ahead); moved || !n.HasState() || n.Disputes()[0].Verdict != "" {
		t.Errorf("it stepped aside: %v; it says %+v", why, n.Disputes())
	}
	if got := len(c.sms[ahead].items()); got != 20 {
		t.Errorf("it has %d records", got)
	}
}

// TestAnotherRecordOfTheSameTerm: a member has another record than all others under the same index and term, which
// the library never compares. The hashes of the states differ, and only the member that a majority contradicts steps
// aside.
func TestAnotherRecordOfTheSameTerm(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startFastRejoin(t, 3)
	want := c.propose(0, 10)
	l := c.leader()
	i := int(l.cfg.NodeID % 3)
	f := c.nodes[i]
	c.wait("the follower to have all", func() bool { return slices.Equal(c.sms[i].items(), want) })
	end := l.logEnd()
	req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: end.Index, PrevLogTerm: end.Term, LeaderCommitIndex: end.Index + 1,
		Entries: []*hraft.Log{{Index: end.Index + 1, Term: end.Term, Type: hraft.LogCommand, Data: []byte("changed on the way")}}}
	var resp hraft.AppendEntriesResponse
	if err := l.transport.AppendEntries(transport.ServerID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[i]), req, &resp); err != nil ||
		!resp.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
	want = append(want, c.propose(10, 12)...)
	c.wait("it to step aside", func() bool { _, aside := c.steppedAside.Load(i); return aside })
	for j, n := range c.nodes {
		if j == i {
			continue
		}
		c.wait("the others to say which differs", func() bool {
			n.compareStatesNow()
			return slices.ContainsFunc(n.Disputes(), func(d Dispute) bool {
				return d.Peer == f.cfg.NodeID && strings.Contains(d.Verdict, "are equal")
			}) || !f.HasState()
		})
		if why, aside := c.steppedAside.Load(j); aside {
			t.Errorf("node %d stepped aside as well: %v", j+1, why)
		}
	}
}

// TestALinearizableReadBehindTheState: a leader reports a commit index below the index applied here. The read fails,
// and the member goes on.
func TestALinearizableReadBehindTheState(t *testing.T) {
	t.Parallel()
	c := startFastRejoin(t, 3)
	want := c.propose(0, 10)
	i := int(c.leader().cfg.NodeID % 3)
	c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
	n := c.nodes[i]
	if _, err := n.ReadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.sms[i].mu.Lock()
	c.sms[i].Index += 1000 // as if it had applied lost records
	c.sms[i].mu.Unlock()
	if index, err := n.ReadIndex(t.Context()); err == nil || len(n.Disputes()) != 1 {
		t.Errorf("got %d, %v", index, err)
	}
	if _, moved := c.steppedAside.Load(i); moved || !n.HasState() {
		t.Error("it stepped aside")
	}
}

// TestAWrongWordTakesNoVote: a peer claims that a member acknowledged a record that it lacks. Without the member's
// receipt the member keeps its vote.
func TestAWrongWordTakesNoVote(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 10)
	for _, n := range c.nodes {
		peer := n.cfg.NodeID%3 + 1
		far := recovery.Position{Term: n.Term() + 1, Index: 1000}
		said := &wire.RaftHello{AckTerm: far.Term, AckIndex: far.Index}
		for _, receipt := range []string{"", "a receipt", c.nodes[peer-1].receipt(far).Receipt, n.receipt(n.logEnd()).Receipt} {
			said.Receipt = receipt
			if n.checkRolledBack(peer, said); !n.HasState() {
				t.Fatalf("node %d gives up its vote for receipt %q", n.cfg.NodeID, receipt)
			}
		}
		if d := n.Disputes(); len(d) != 1 || d[0].Peer != peer {
			t.Errorf("node %d says %+v", n.cfg.NodeID, d)
		}
	}
	n := c.nodes[0]
	for _, other := range c.nodes[1:] {
		other.Close() // otherwise it would give the vote back
	}
	far := n.receipt(recovery.Position{Term: n.Term() + 1, Index: 1000})
	if n.checkRolledBack(n.cfg.NodeID%3+1, &wire.RaftHello{AckTerm: far.Term, AckIndex: far.Index, Receipt: far.Receipt}); n.HasState() {
		t.Error("its own receipt does not count")
	}
}

// TestARecordThatCannotBeApplied: a member asks the others about a record that it cannot apply. If they hold the same
// record, nothing changes; if a majority holds another, the member steps aside.
func TestARecordThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 10)
	for _, sm := range c.sms {
		c.wait("all records", func() bool { return slices.Equal(sm.items(), want) })
	}
	i := int(c.leader().cfg.NodeID % 3)
	f, why := c.nodes[i], errors.New("unreadable")
	at, _ := c.sms[i].Applied()
	if said := f.VerifyWithVoters(t.Context(), at, why); said != "nodes 1, 2 and 3 hold the same record" {
		t.Errorf("it is told that %s", said)
	}
	if _, moved := c.steppedAside.Load(i); moved {
		t.Error("it stepped aside")
	}
	for j, n := range c.nodes { // as if the two others had another record
		if j == i {
			continue
		}
		c.wait("the end to be committed", func() bool { return n.logs.Committed() >= at })
		n.Close()
		log, err := logstore.Open(logDir(c.dirs[j]), logstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var l hraft.Log
		err = log.GetLog(at, &l)
		l.Data = []byte("another")
		if err := errors.Join(err, log.DeleteRange(at, at+100), log.StoreLog(&l), log.Close()); err != nil {
			t.Fatal(err)
		}
		c.reopen(j, "secret", c.peers(j))
	}
	if said := f.VerifyWithVoters(t.Context(), at, why); !strings.HasSuffix(said, "hold another record") {
		t.Errorf("it is told that %s", said)
	}
	if _, moved := c.steppedAside.Load(i); !moved {
		t.Error("it stays")
	}
}
