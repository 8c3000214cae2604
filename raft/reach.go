package raft

import (
	"sync"

	hraft "github.com/hashicorp/raft"
)

// reach is which members do not answer this node while it leads. The library reports every heartbeat that fails; an operator is told once
// when a member goes, and once when it is back.
type reach struct {
	mu   sync.Mutex
	gone map[hraft.ServerID]bool
}

// turns says whether a member's state is new.
func (r *reach) turns(id hraft.ServerID, gone bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone[id] == gone {
		return false
	}
	if r.gone == nil {
		r.gone = map[hraft.ServerID]bool{}
	}
	r.gone[id] = gone
	return true
}

// forget begins anew: another node may lead, which sees for itself.
func (r *reach) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.gone)
}

// noteReach logs that a member is gone or back. The library calls it as it observes, so that nothing is dropped.
func (n *Node) noteReach(observed any) {
	switch o := observed.(type) {
	case hraft.RaftState:
		n.reach.forget()
	case hraft.FailedHeartbeatObservation:
		if n.reach.turns(o.PeerID, true) {
			n.log.Warn("peer does not answer", "peer", o.PeerID, "last_contact", o.LastContact)
		}
	case hraft.ResumedHeartbeatObservation:
		if n.reach.turns(o.PeerID, false) {
			n.log.Info("peer answers again", "peer", o.PeerID)
		}
	}
}
