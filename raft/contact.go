package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A follower's own commit index does not show its lag: after a restart, or a minute without the leader, the index is
// old. So every append and heartbeat carries the index up to which the leader has acknowledged records, and a
// follower compares itself with that index.

// contact holds this node's knowledge of acknowledged records.
type contact struct {
	mu            sync.Mutex
	term          uint64    // the term of the leader that reported acknowledged
	acknowledged  uint64    // the leader's index in its last message
	catchUpTarget uint64    // the leader's index in the first message after the last silence; see CaughtUp
	at            time.Time // when the leader's last message arrived; zero for never
}

// acknowledged returns, on a leader, the index up to which records are acknowledged; on other nodes it returns 0. A
// new leader knows the index once it has applied the barrier of its term, because its predecessor may have committed
// more than it reported.
func (n *Node) acknowledged() uint64 {
	if !n.IsLeader() {
		return 0
	}
	return n.logs.CapSynced(n.raft.CommitIndex())
}

// noteLeader notes the time and the acknowledged index in a fresh message of a term's leader. A new contact begins
// with a new term, and after the leader was silent for longer than its lease: the leader may have acknowledged any
// number of records meanwhile.
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

// fresh reports whether the leader sent a message within the last lease. heard is the follower's uptime at the answer
// that the message refers to. A message that waited in a socket while this node or its machine was suspended is not
// fresh.
func (n *Node) fresh(heard uint64) bool {
	now := n.uptimeMicros()
	return heard > 0 && heard <= now && now-heard <= uint64(n.lease().Microseconds())
}

// lease returns the time for which a leader goes on without hearing from its quorum, and for which a follower relies
// on its leader's last message. A message counts only if it is at most one lease old (see fresh), so the acknowledged
// index that a follower reports is at most two leases old. Two leases are six tenths of Election, the shortest time
// in which others elect a leader.
func (n *Node) lease() time.Duration { return n.cfg.Election * 3 / 10 }

// Acknowledged returns the index up to which the leader has acknowledged records. known is false while this node does
// not hear from the leader.
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

// Lag returns the number of acknowledged records that a node at an index lacks.
func (n *Node) Lag(have uint64) (lacks uint64, known bool) {
	index, known := n.Acknowledged()
	if !known || n.hasApplied(have, index) {
		return 0, known
	}
	return index - have, true
}

// CaughtUp reports whether a state at an index includes every record that was acknowledged when this node first heard
// from its leader after its start or after a silence. Without a leader the last result stays. A new leader has every
// acknowledged record in its log.
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

// Replayed reports whether a state at an index has applied every record that the log had when it was opened, or has
// caught up with the leader. After a kill the state may start at an earlier index than it had applied. On a member
// without state the log does not count.
func (n *Node) Replayed(have uint64) bool {
	return !n.stateless() && n.hasApplied(have, n.lastAtOpen) || n.CaughtUp(have)
}

// hasApplied reports whether a state machine at one index has applied every record up to another. The library does
// not pass its own records to the state machine.
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
// longer a member. After each failed append the library doubles its wait, up to ten seconds, even if the peer is
// back. So the transport reports a failure only after this wait, and the peer gets records as soon as it answers
// again.
func (n *Node) waitPeerAnswer(ctx context.Context, id uint32) {
	for ctx.Err() == nil && n.raft.State() == hraft.Leader {
		if _, member := n.findMember(id); !member {
			return
		}
		n.mu.Lock()
		heard, moved := n.peer(id).answered, n.changed
		n.mu.Unlock()
		look := time.NewTimer(time.Second) // no event announces a change of members
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

// peer returns the entry of another member. The caller holds n.mu.
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

// withPeer calls f with the entry of another member, under the lock.
func (n *Node) withPeer(id uint32, f func(*peerState)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.peer(id))
}

// notePeerAnswer notes when a follower answered, and the end of its log.
func (n *Node) notePeerAnswer(id uint32, lastLog uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	p.lastSeen = time.Now()
	p.lastLog = max(p.lastLog, lastLog)
	close(p.answered)
	p.answered = make(chan struct{})
}
