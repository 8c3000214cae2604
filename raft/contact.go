package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A follower's own commit index does not show how far behind it is: after a restart, or a minute without the leader,
// the index is old. So every append and heartbeat carries the index up to which the leader has acknowledged records,
// and a follower measures itself by that.

// contact tracks this node's knowledge of acknowledged records.
type contact struct {
	mu            sync.Mutex
	term          uint64    // the term of the leader that reported acknowledged
	acknowledged  uint64    // the leader's index in its last message
	catchUpTarget uint64    // the leader's index in the first message of this contact; see CaughtUp
	at            time.Time // when that message came; zero for never
}

// acknowledged is, on a leader, the index up to which records are acknowledged; 0 on other nodes. A new leader knows
// it once the barrier of its term is applied, because its predecessor may have committed more than it reported.
func (n *Node) acknowledged() uint64 {
	if !n.IsLeader() {
		return 0
	}
	return n.logs.CapSynced(n.raft.CommitIndex())
}

// noteLeader notes the time and the acknowledged index in a message of a term's leader that was sent just now. A new
// contact begins with a new term, and when the leader was silent for longer than its lease: it may have acknowledged
// any number of records meanwhile.
func (n *Node) noteLeader(term, acknowledged uint64, clock time.Time) {
	if term < n.Term() {
		return
	}
	n.clocks.noteLeader(clock)
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
	if term == c.term {
		acknowledged = max(acknowledged, c.acknowledged)
	}
	if term > c.term || now.Sub(c.at) > n.lease() {
		c.catchUpTarget = acknowledged
	}
	c.term, c.acknowledged, c.at = term, acknowledged, now
}

// uptimeMicros returns the time since the machine started, including sleep. A follower puts it into each answer, and
// the leader returns it in its next message (see fresh).
func (n *Node) uptimeMicros() uint64 { return uint64(n.clocks.elapsed().Microseconds()) }

// fresh reports whether the leader sent a message within the last lease: it names the uptime of an answer that is no
// older. A message that waited in a socket while this node or its machine was suspended is not fresh.
func (n *Node) fresh(heard uint64) bool {
	now := n.uptimeMicros()
	return heard > 0 && heard <= now && now-heard <= uint64(n.lease().Microseconds())
}

// lease is the time for which a leader goes on without hearing its quorum, and for which a follower relies on its
// leader's word. A message is a lease old at most when it counts (fresh), so the acknowledged index that a follower
// reports is two leases old at most: no longer than the shortest time in which others elect, which is six tenths of
// Election.
func (n *Node) lease() time.Duration { return n.cfg.Election * 3 / 10 }

// Acknowledged is the index up to which the leader has acknowledged records; known only while this node hears the
// leader.
func (n *Node) Acknowledged() (index uint64, known bool) {
	if index := n.acknowledged(); index > 0 {
		return index, true
	}
	if n.raft.State() != hraft.Follower { // a candidate has no leader
		return 0, false
	}
	term := n.Term()
	c := &n.contact
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acknowledged, c.term == term && time.Since(c.at) <= n.lease()
}

// Behind returns the number of acknowledged records that a node at an index lacks.
func (n *Node) Behind(have uint64) (lacks uint64, known bool) {
	index, known := n.Acknowledged()
	if !known || n.hasApplied(have, index) {
		return 0, known
	}
	return index - have, true
}

// CaughtUp reports whether a state at an index includes everything that was acknowledged when this node first heard
// its leader after its start or after a silence. A node that knows no leader keeps its last answer. A new leader has
// every acknowledged record in its log.
func (n *Node) CaughtUp(have uint64) bool {
	id, _, led := n.Leader()
	term, last := n.Term(), n.raft.LastIndex()
	c := &n.contact
	c.mu.Lock()
	heard, current, needed := !c.at.IsZero(), c.term == term, c.catchUpTarget
	c.mu.Unlock()
	if led && !current {
		if id != n.cfg.NodeID {
			return false
		}
		needed = last
	}
	return heard && n.hasApplied(have, needed)
}

// Whole reports whether a state at an index has applied every record that the log had when it was opened, or has
// caught up with the leader. After a kill the state may start behind what it had applied. The log of a member
// without state does not count.
func (n *Node) Whole(have uint64) bool {
	return !n.stateless() && n.hasApplied(have, n.lastAtOpen) || n.CaughtUp(have)
}

// hasApplied reports whether a state machine at one index has applied every record up to another. The library does
// not pass its own records on.
func (n *Node) hasApplied(have, index uint64) bool {
	if have >= index {
		return true
	}
	if index > n.raft.LastIndex() {
		return false
	}
	given, err := n.lastStateIndex(index)
	return err == nil && have >= given
}

// waitPeerAnswer returns when a peer has answered a heartbeat, when this node no longer leads, or when the peer is no
// longer a member. After each failed append the library doubles its wait, up to ten seconds, whether or not the peer
// is back; a failure reported only then costs no more than the first one.
func (n *Node) waitPeerAnswer(ctx context.Context, id uint32) {
	for ctx.Err() == nil && n.raft.State() == hraft.Leader {
		if _, member := n.findMember(id); !member {
			return
		}
		n.mu.Lock()
		heard, moved := n.peer(id).answered, n.changed
		n.mu.Unlock()
		look := time.NewTimer(time.Second) // a change of members sends no event
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

// peer returns the state of another member. n.mu is held.
func (n *Node) peer(id uint32) *peerState {
	p := n.peers[id]
	if n.peers == nil {
		n.peers = map[uint32]*peerState{}
	}
	if p == nil {
		p = &peerState{answered: make(chan struct{}), probes: make(chan struct{}, maxProbes)}
		n.peers[id] = p
	}
	return p
}

// withPeer calls f with the state of another member, while nothing else reads or changes it.
func (n *Node) withPeer(id uint32, f func(*peerState)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.peer(id))
}

// notePeerAnswer notes a follower's answer: when it came, and how far its log reaches.
func (n *Node) notePeerAnswer(id uint32, lastLog uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	p.lastSeen = time.Now()
	p.lastLog = max(p.lastLog, lastLog)
	close(p.answered)
	p.answered = make(chan struct{})
}
