package raft

import (
	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/transport"
)

// A leader that hears nothing from a quorum steps down, so followers must answer heartbeats even while the library's
// main task waits for the disk. The library would answer in the tasks that receive them, and those may move it to a
// newer term: a leader about to store a record would then store it under the new term, in which another member leads.
// Two different records would have the same index and term, which Raft cannot tell apart. So only the main task moves
// the library here. A heartbeat that changes nothing is answered at once and passed to the main task later; any other
// heartbeat waits for the main task.

// answerHeartbeat answers a heartbeat of the leader that this node already follows, and returns nil for any other
// request. It reads the term last: terms never go back, so this node had not joined a newer term when the heartbeat
// came.
func (n *Node) answerHeartbeat(a *hraft.AppendEntriesRequest) *hraft.AppendEntriesResponse {
	if !transport.IsHeartbeat(a) || n.raft.State() != hraft.Follower {
		return nil
	}
	if _, leader := n.raft.LeaderWithID(); leader != hraft.ServerID(a.ID) {
		return nil
	}
	last := n.raft.LastIndex()
	if n.raft.CurrentTerm() != a.Term {
		return nil
	}
	pause.Offer(n.answeredHeartbeats, a) // unless an equal heartbeat waits already
	return &hraft.AppendEntriesResponse{Term: a.Term, LastLog: last, Success: true}
}

// deliverHeartbeats is the task that passes the heartbeats that were answered here to the library. By then a
// heartbeat may have an older term; the library ignores it.
func (n *Node) deliverHeartbeats() {
	for a := range pause.Received(n.ctx.Done(), n.answeredHeartbeats) {
		_, _ = n.transport.Consume(n.ctx, a, nil) // answerHeartbeat has answered it
	}
}
