package raft

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestAMemberThatAppliedWhatTheLeaderHasNot: a leader without some of what this member has applied sends other records in their
// place. The member stops at once, and comes back as one without state.
func TestAMemberThatAppliedWhatTheLeaderHasNot(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startCalm(t, 3)
	early := c.propose(0, 10)
	l := int(c.leader().cfg.NodeID - 1)
	ahead, behind := l, (l+1)%3
	c.wait("all records", func() bool { return slices.Equal(c.sms[behind].items(), early) })
	c.nodes[behind].Close()
	c.propose(10, 20)
	for i := range 3 {
		c.nodes[i].Close()
	}
	if err := Recover(Config{NodeID: uint32(behind + 1), Dir: c.dirs[behind], Addr: c.addrs[behind]}, c.sms[behind]); err != nil {
		t.Fatal(err)
	}
	c.reopen(behind, "secret", c.peers(behind))
	want := append(early, c.propose(20, 25)...)
	c.reopen(ahead, "secret", c.peers(ahead)) // which the operator was told not to do
	if _, err := c.nodes[behind].Change(t.Context(), wire.Membership{Action: "join", NodeID: uint32(ahead + 1), Addr: c.addrs[ahead], Role: "voter"}); err != nil {
		t.Fatal(err)
	}
	c.wait("it to stop", func() bool { return c.nodes[ahead].contradiction.Load() != nil })
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
	c.sms[ahead] = &list{}
	c.reopen(ahead, "secret", c.peers(ahead))
	c.wait("all records, and a vote", func() bool { return slices.Equal(c.sms[ahead].items(), want) && c.nodes[ahead].HasState() })
}

// TestALinearizableReadBehindTheState: the leader has committed less than is applied here.
func TestALinearizableReadBehindTheState(t *testing.T) {
	t.Parallel()
	c := startCalm(t, 3)
	want := c.propose(0, 10)
	i := int(c.leader().cfg.NodeID % 3)
	c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
	if _, err := c.nodes[i].ReadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.sms[i].mu.Lock()
	c.sms[i].Index += 1000 // as if it had applied what was lost
	c.sms[i].mu.Unlock()
	if index, err := c.nodes[i].ReadIndex(t.Context()); err == nil || c.nodes[i].contradiction.Load() == nil {
		t.Errorf("got %d, %v", index, err)
	}
}
