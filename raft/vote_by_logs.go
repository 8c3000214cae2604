package raft

import (
	"context"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// A voter that was away does not know the voters that joined meanwhile, and the library grants no vote to a candidate
// that is not a voter in its own, older configuration. Raft needs no such check: the candidate's configuration
// decides which votes count, and a voter compares the ends of the two logs. With the check, no leader would be
// elected if a majority is up but only a newcomer has every acknowledged record. So this node compares the logs
// itself and passes the request to the library without the candidate's id, which disables the library's check.
//
// The check exists so that a removed node cannot disturb the cluster. The logs ensure that as well: a removed node
// lacks the record of its removal, which a majority has, so it gets no vote.

// unlistedCandidate reports whether a candidate is not a voter in this node's configuration.
func (n *Node) unlistedCandidate(candidate uint32) bool {
	s, ok := n.findMember(candidate)
	return !ok || s.Suffrage != hraft.Voter
}

// stranded reports whether the library is a candidate and still names a leader. A leader's snapshot that breaks off
// during an election has this effect. The library then grants no vote until a leader is elected, and that election
// may need this vote.
func (n *Node) stranded() bool {
	addr, _ := n.raft.LeaderWithID()
	return addr != "" && n.raft.State() == hraft.Candidate
}

// voteByLogs answers a vote request that the library would reject for reasons other than the logs: it compares the
// ends of the logs. A denial does not change the term.
func (c *inbound) voteByLogs(ctx context.Context, v *wire.RaftVote) (*wire.RaftVoteReply, error) {
	_, _, led := c.n.Leader()
	denied := led && !v.Transfer || v.Term < c.n.Term() || (recovery.Position{Term: v.LastTerm, Index: v.LastIndex}).Before(c.n.logEnd())
	if denied || v.PreVote {
		return &wire.RaftVoteReply{Term: c.n.Term(), Granted: !denied}, nil
	}
	v.Transfer = v.Transfer || c.n.stranded() // with Transfer set the library votes even if it still knows a leader
	return c.castVote(ctx, v, hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, Addr: []byte(v.Addr)})
}
