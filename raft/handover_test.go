package raft

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestNoSecondHandOverToAMemberThatIsBehind: after a failed hand-over the library keeps waiting for the member. Other
// members may become leader, and so may this one once it has caught up.
func TestNoSecondHandOverToAMemberThatIsBehind(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	c.propose(0, 5)
	l := c.leader()
	at := int(l.cfg.NodeID - 1)
	away := (at + 1) % 3
	to := wire.Membership{Action: "transfer", NodeID: uint32(away + 1)}
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	c.propose(5, 10)
	c.wait("a term in which it fails, and is not tried again", func() bool { // on a busy machine the lead may be lost meanwhile
		l := c.leader()
		term := l.Term()
		_, first := l.Change(t.Context(), to)
		_, second := l.Change(t.Context(), to)
		if l.Term() != term || !l.IsLeader() {
			return false
		}
		if first == nil || !errors.Is(second, ErrUnavailable) {
			t.Fatalf("to a member that is away: %v, and once more: %v", first, second)
		}
		return true
	})
	c.reopen(away, "secret", slices.Delete(slices.Clone(c.addrs), away, away+1))
	c.wait("the member to lead", func() bool {
		if c.nodes[away].IsLeader() {
			return true
		}
		_, _ = c.leader().Change(t.Context(), to) // not while it lacks records
		return false
	})
}
