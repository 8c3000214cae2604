package raft

import (
	"context"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// A voter that was away does not know the voters that joined meanwhile, and the library gives no vote to a candidate that is no
// voter in its own, older configuration. Raft needs no such check: it counts the votes by the candidate's configuration, and a
// voter looks at the ends of the two logs. With the check no leader is elected when a majority is up and a newcomer alone has
// all that was acknowledged. So this node compares the logs itself and hands the library the request without the candidate's
// id, which the library takes for one it cannot check.
//
// What the check is for, that a node which was removed disturbs nobody, holds by the logs: one that was removed lacks the record
// of its removal, which a majority has.

// stranger says whether a candidate is no voter as far as this node knows.
func (n *Node) stranger(candidate uint32) bool {
	s, ok := n.find(candidate)
	return !ok || s.Suffrage != hraft.Voter
}

// strangersBallot answers a candidate that this node does not know as a voter. A refusal moves no term.
func (c *inbound) strangersBallot(ctx context.Context, v *wire.RaftVote) (*wire.RaftVoteReply, error) {
	_, _, led := c.n.Leader()
	denied := led && !v.Transfer || v.Term < c.n.Term() || (recovery.Place{Term: v.LastTerm, Index: v.LastIndex}).Before(c.n.end())
	if denied || v.PreVote {
		return &wire.RaftVoteReply{Term: c.n.Term(), Granted: !denied}, nil
	}
	return c.castVote(ctx, v, hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, Addr: []byte(v.Addr)})
}
