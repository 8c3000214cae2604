package raft

import (
	"context"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// A voter that was away does not know the voters that joined meanwhile, and the library gives no vote to a candidate
// that its own, older configuration does not list as a voter. Raft needs no such check: votes are counted by the
// candidate's configuration, and a voter compares the ends of the two logs. With the check, no leader would be
// elected when a majority is up but only a newcomer has every acknowledged record. So this node compares the logs
// itself and gives the library the request without the candidate's id, which turns its check off.
//
// The check exists so that a removed node cannot disturb the cluster. The logs ensure that as well: a removed node
// lacks the record of its removal, which a majority has, so it gets no vote.

// unlistedCandidate reports whether a candidate is not a voter in this node's configuration.
func (n *Node) unlistedCandidate(candidate uint32) bool {
	s, ok := n.find(candidate)
	return !ok || s.Suffrage != hraft.Voter
}

// stranded reports whether the library stands for election and still names a leader. A leader's snapshot that breaks
// off during an election leaves it so. The library then gives no vote until a leader is elected, and that may need this
// very vote.
func (n *Node) stranded() bool {
	addr, _ := n.raft.LeaderWithID()
	return addr != "" && n.raft.State() == hraft.Candidate
}

// voteByLogs answers a candidate in the library's place, as far as the library would reject it for its own reasons:
// it compares the ends of the logs. A rejection moves no term.
func (c *inbound) voteByLogs(ctx context.Context, v *wire.RaftVote) (*wire.RaftVoteReply, error) {
	_, _, led := c.n.Leader()
	denied := led && !v.Transfer || v.Term < c.n.Term() || (recovery.Place{Term: v.LastTerm, Index: v.LastIndex}).Before(c.n.end())
	if denied || v.PreVote {
		return &wire.RaftVoteReply{Term: c.n.Term(), Granted: !denied}, nil
	}
	v.Transfer = v.Transfer || c.n.stranded() // the library asks for its leader then, and not whether that one is there
	return c.castVote(ctx, v, hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, Addr: []byte(v.Addr)})
}
