package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A follower's own commit index says nothing of how far behind it is: after a restart, or a minute without the leader, it is the
// index of long ago. So every append and heartbeat says up to where the leader has acknowledged records, and a follower judges
// itself by that.

// contact is what this node knows of the records that were acknowledged.
type contact struct {
	mu           sync.Mutex
	term         uint64    // in which it was heard
	acknowledged uint64    // by the leader, as it said last
	needed       uint64    // as it said first, in this contact: a node that has applied it has caught up
	at           time.Time // when the leader said it last; zero for never
}

// acknowledged is the index at or below which all acknowledged records are; 0 when this node cannot tell. A new leader
// knows it when the barrier of its term is applied: the leader before may have committed more than it told.
func (n *Node) acknowledged() uint64 {
	if !n.IsLeader() {
		return 0
	}
	return n.logs.CapSynced(n.raft.CommitIndex())
}

// hear notes what the leader of a term says of the time, and of what it has acknowledged. A new contact begins with a new term, and when the leader was silent for
// longer than its lease: anything may have been acknowledged meanwhile.
func (n *Node) hear(term, acknowledged uint64, clock time.Time) {
	if term < n.Term() {
		return
	}
	n.clocks.led(clock)
	if acknowledged == 0 {
		return
	}
	now := time.Now()
	c := &n.contact
	c.mu.Lock()
	defer c.mu.Unlock()
	if term < c.term {
		return
	}
	if term > c.term || now.Sub(c.at) > n.lease() {
		c.needed = max(acknowledged, c.acknowledged)
	}
	c.term, c.acknowledged, c.at = term, max(acknowledged, c.acknowledged), now
}

// lease is how long a leader goes on without its quorum.
func (n *Node) lease() time.Duration { return n.cfg.Election * 3 / 10 }

// Acknowledged is the index up to which the leader has acknowledged records. It is known while the leader is heard.
func (n *Node) Acknowledged() (index uint64, known bool) {
	if index := n.acknowledged(); index > 0 {
		return index, true
	}
	if n.raft.State() != hraft.Follower { // the leader it heard last is gone
		return 0, false
	}
	term := n.Term()
	c := &n.contact
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acknowledged, c.term == term && time.Since(c.at) <= n.lease()
}

// Behind is how many records a node that has come to an index lacks of those.
func (n *Node) Behind(have uint64) (lacks uint64, known bool) {
	index, known := n.Acknowledged()
	if !known || n.reaches(have, index) {
		return 0, known
	}
	return index - have, true
}

// CaughtUp says whether a node that has come to an index has all that was acknowledged when it heard its leader first, after its
// start or a silence. One that knows of no leader stays as it was; one that was elected has all there is in its log.
func (n *Node) CaughtUp(have uint64) bool {
	id, _, led := n.Leader()
	term, last := n.Term(), n.raft.LastIndex()
	c := &n.contact
	c.mu.Lock()
	heard, current, needed := !c.at.IsZero(), c.term == term, c.needed
	c.mu.Unlock()
	if led && !current {
		if id != n.cfg.NodeID {
			return false
		}
		needed = last
	}
	return heard && n.reaches(have, needed)
}

// reaches says whether a state machine that has come to one index has all it is given of the records up to another: the library
// keeps some for itself.
func (n *Node) reaches(have, index uint64) bool {
	if have >= index {
		return true
	}
	if index > n.raft.LastIndex() {
		return false
	}
	given, err := n.lastForState(index)
	return err == nil && have >= given
}

// heardAgain waits until a peer has answered a heartbeat, and gives up when this node does not lead any more or the peer is no
// member. After each failure the library waits twice as long before it sends records again, up to ten seconds, whether the peer
// answers meanwhile or not; a failure that is told late costs no more than the first one did.
func (n *Node) heardAgain(ctx context.Context, id uint32) {
	for ctx.Err() == nil && n.raft.State() == hraft.Leader {
		if _, member := n.find(id); !member {
			return
		}
		n.mu.Lock()
		heard, moved := n.peer(id).heard, n.changed
		n.mu.Unlock()
		look := time.NewTimer(time.Second) // membership changes without a word
		select {
		case <-heard:
			look.Stop()
			return
		case <-moved:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
	}
}

// peer is what is known of another member. n.mu is held.
func (n *Node) peer(id uint32) *peerState {
	p := n.peers[id]
	if p == nil {
		p = &peerState{heard: make(chan struct{})}
		n.peers[id] = p
	}
	return p
}

// heard notes what a follower's answer says of it.
func (n *Node) heard(id uint32, lastLog uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	p.lastSeen = time.Now()
	p.lastLog = max(p.lastLog, lastLog)
	close(p.heard)
	p.heard = make(chan struct{})
}
