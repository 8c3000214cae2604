package raft

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestRecordsThatTheClusterLost: two of three members get old copies of their homes while the leader is down, and
// elect one of them. When the old leader comes back, with a state that a crash took back, none of its records is
// replaced. The others report that it has acknowledged records that they lack, and it keeps and names them.
func TestRecordsThatTheClusterLost(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	early := c.propose(0, 10)
	l := int(c.leader().cfg.NodeID - 1)
	others := []int{(l + 1) % 3, (l + 2) % 3}
	copies, then := map[int]fs.FS{}, map[int]*listMachine{}
	for _, sm := range c.sms {
		c.wait("all records", func() bool { return slices.Equal(sm.items(), early) })
	}
	for _, i := range others {
		c.nodes[i].Close()
		copies[i] = c.copyHome(i)
		then[i] = &listMachine{Index: c.sms[i].Index, Term: c.sms[i].Term, Items: c.sms[i].items()}
		c.reopen(i, "secret", c.peers(i))
	}
	first, _ := c.leader().lastRecord()
	lost := c.propose(10, 20)
	old := c.nodes[l]
	last, _ := old.lastRecord()
	c.wait("the leader to have stored what is committed", func() bool { return old.logs.Committed() >= last })
	for _, n := range c.nodes {
		n.Close()
	}
	for _, i := range others {
		c.restoreHome(i, copies[i], nil, "")
		c.sms[i] = then[i]
		c.reopen(i, "secret", c.peers(i))
	}
	c.electLongestLog()
	now := append(slices.Clone(early), c.propose(20, 25)...)
	c.sms[l] = &listMachine{}
	c.reopen(l, "secret", c.peers(l))
	c.wait("it to step aside", func() bool { _, aside := c.steppedAside.Load(l); return aside })
	why, _ := c.steppedAside.Load(l)
	if want := fmt.Sprintf("of which %d are surely acknowledged", last-first); !strings.Contains(fmt.Sprint(why), want) {
		t.Errorf("it says %v, want %s: records %d to %d", why, want, first+1, last)
	}
	for _, i := range others {
		if got := c.sms[i].items(); !slices.Equal(got, now) {
			t.Errorf("node %d has %q", i+1, got)
		}
		if !slices.ContainsFunc(c.nodes[i].Disputes(),
			func(d Dispute) bool { return d.Peer == uint32(l+1) && strings.Contains(d.Says, "acknowledged") }) {
			t.Errorf("node %d says %+v", i+1, c.nodes[i].Disputes())
		}
		if _, moved := c.steppedAside.Load(i); moved {
			t.Errorf("node %d stepped aside", i+1)
		}
	}
	c.nodes[l].Close()
	aside, err := Discard(c.dirs[l])
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	if err := RecordsAside(aside, nil, first+1, last, func(r Record) error {
		if r.Data != nil {
			kept = append(kept, string(r.Data))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept, lost) {
		t.Errorf("kept are %q, want %q", kept, lost)
	}
}

// TestALeaderThatIsDeposedDoubtsNobody: a leader that has not heard of its successor gets the commit position of the
// successor's term. Only in its own term, or an earlier one, would that mean that it lacks acknowledged records.
func TestALeaderThatIsDeposedDoubtsNobody(t *testing.T) {
	t.Parallel()
	c := startStableLeader(t, 3)
	c.propose(0, 3)
	l := c.leader()
	last, _ := l.lastRecord()
	peer := l.cfg.NodeID%3 + 1
	l.compareCommitted(peer, &wire.RaftHello{CommitTerm: l.Term() + 1, CommitIndex: last + 5})
	if got := l.Disputes(); len(got) > 0 {
		t.Errorf("it doubts %+v", got)
	}
	l.compareCommitted(peer, &wire.RaftHello{CommitTerm: l.Term(), CommitIndex: last + 5})
	if got := l.Disputes(); len(got) != 1 || got[0].Peer != peer {
		t.Errorf("a record of its own term that it lacks: %+v", got)
	}
}
