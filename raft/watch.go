package raft

import (
	"context"
	"time"

	hraft "github.com/hashicorp/raft"
)

// watch is the task that follows leadership. It announces this node as leader only when the barrier of its term is
// applied here.
func (n *Node) watch() {
	obs := make(chan hraft.Observation, 64)
	o := hraft.NewObserver(obs, false, func(o *hraft.Observation) bool {
		n.logReachability(o.Data)
		switch o.Data.(type) {
		case hraft.LeaderObservation, hraft.RaftState:
			return true
		}
		return false
	})
	n.raft.RegisterObserver(o)
	defer n.raft.DeregisterObserver(o)
	tick := time.NewTicker(n.cfg.Heartbeat)
	defer tick.Stop()
	for {
		moved := true
		select {
		case <-n.ctx.Done():
			return
		case <-obs:
		case <-tick.C: // the library may drop observations; the tick finds the change
			moved = false
		}
		if n.updateReady() || moved {
			n.announceChange()
		}
	}
}

// logReachability logs once when a member stops answering this leader, and once when it answers again: the library
// reports every failed heartbeat. It runs in the observer's filter, so that no observation is dropped.
func (n *Node) logReachability(observed any) {
	switch o := observed.(type) {
	case hraft.RaftState:
		n.unreachable.Clear() // another node may lead now, and watches the members itself
	case hraft.FailedHeartbeatObservation:
		if _, known := n.unreachable.LoadOrStore(o.PeerID, true); !known {
			n.log.Warn("peer does not answer", "peer", o.PeerID, "last_contact", o.LastContact)
		}
	case hraft.ResumedHeartbeatObservation:
		if _, known := n.unreachable.LoadAndDelete(o.PeerID); known {
			n.log.Info("peer answers again", "peer", o.PeerID)
		}
	}
}

// updateReady waits for the barrier of a new term and then marks this leader as ready; it reports whether readiness
// changed. Propose and ReadIndex require a ready leader: before the barrier is applied, this leader may lack records
// that its predecessor acknowledged.
func (n *Node) updateReady() bool {
	if n.raft.State() != hraft.Leader {
		if n.readyTerm.Swap(0) == 0 {
			return false
		}
		n.log.Info("leadership lost", "term", n.Term())
		return true
	}
	term := n.Term()
	if n.readyTerm.Load() == term {
		return false
	}
	if err := n.await(context.Background(), n.raft.Barrier(n.cfg.Election)); err != nil {
		return false
	}
	if n.raft.State() != hraft.Leader || n.Term() != term {
		return false
	}
	n.mu.Lock()
	n.led = time.Now()
	n.mu.Unlock()
	n.readyTerm.Store(term)
	n.noteLeader(term, n.acknowledged(), time.Time{})
	n.log.Info("leader", "term", term)
	return true
}
