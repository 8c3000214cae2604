package raft

import (
	"context"
	"errors"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestAReplacedLeaderIsNotWaitedFor: a request to a silent leader, such as one on a paused machine, ends when another
// node leads, so that its sender can go there.
func TestAReplacedLeaderIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.propose(0, 5)
	l := c.leader()
	f := c.nodes[l.cfg.NodeID%3]
	other := f.cfg.NodeID%3 + 1
	c.wait("the follower to know its leader", func() bool { id, _, ok := f.Leader(); return ok && id == l.cfg.NodeID })
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*suite.Patience)
	defer cancel()
	go func() {
		_, err := f.Forward(ctx, wire.Forward{Entry: []byte("hang")})
		ended <- err
	}()
	c.wait("another to lead", func() bool {
		if id, _, ok := f.Leader(); ok && id != l.cfg.NodeID {
			return true
		}
		_, _ = l.Change(t.Context(), wire.Membership{Action: "transfer", NodeID: other})
		return false
	})
	c.wait("the request to end", func() bool { return len(ended) > 0 })
	if err := <-ended; err == nil || errors.Is(err, ErrNotLeader) || errors.Is(err, ErrNoLeader) {
		t.Errorf("an entry that the old leader may have taken: %v", err)
	}
}
