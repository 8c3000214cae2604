package raft

import hraft "github.com/hashicorp/raft"

// A leader that hears nothing from a quorum steps down, so heartbeats are answered while the library's main task waits for the
// disk. The library does that by taking them in the tasks that received them, and those then move it to a newer term, too: also
// a leader that is about to take a record. The record bears the new term then, in which another leads, and where two records
// have the same index and term nobody sees that they are not the same. So nothing but the main task moves the library here. A
// heartbeat that would change nothing is answered at once, and the main task hears of it when it has the time; any other
// waits for its turn.

// beat answers a heartbeat of the leader that this node follows already; nil for any other. The term is looked at last: it
// never goes back, so this node had promised nothing to a newer one when the heartbeat had come.
func (n *Node) beat(a *hraft.AppendEntriesRequest) *hraft.AppendEntriesResponse {
	if n.raft.State() != hraft.Follower {
		return nil
	}
	if _, leader := n.raft.LeaderWithID(); leader != hraft.ServerID(a.ID) {
		return nil
	}
	last := n.raft.LastIndex()
	if n.raft.CurrentTerm() != a.Term {
		return nil
	}
	select {
	case n.beats <- a:
	default: // one waits already, which says the same
	}
	return &hraft.AppendEntriesResponse{Term: a.Term, LastLog: last, Success: true}
}

// tellBeats is the task that lets the library know of heartbeats that were answered. One that waited until there is a newer
// term counts no more.
func (n *Node) tellBeats() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case a := <-n.beats:
			_, _ = n.transport.Consume(n.ctx, a, nil) // its answer was given
		}
	}
}
