package raft

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
)

// A leader whose process ended is replaced at once. The timeouts are there for one that is silent, which may be slow, or far, or
// gone: they have to be long. A process that ended says so: the system closes its connections, and refuses new ones. A
// follower that sees both asks the others for votes before the vote, and they give them although they know a leader, if they see
// the same and have no more in their logs. With a quorum of those it stands for election as one does who was told to.
//
// So one follower that alone was cut off from a leader that lives moves nothing, and where the system says nothing (a
// machine without power, a network that swallows packets) or a member of an older version is asked, the timeouts decide.

// How followers keep out of each other's way: each waits by its place among them, before the first attempt and between any two.
const (
	standSure  = 500 * time.Millisecond // a process that ends closes one thing after the other
	standFirst = 100 * time.Millisecond // for each place
	standAgain = 50 * time.Millisecond  // and for each place as much again
	standAside = time.Second            // for one whom this node has told that it may lead: it syncs its vote first
)

// left is told of each connection for heartbeats or records that ended.
func (n *Node) left(id uint32) {
	if leader, _, ok := n.Leader(); !ok || leader != id {
		return
	}
	select {
	case n.leavings <- id:
	default: // one is being looked into
	}
}

// succeed is the task that replaces leaders whose process ended.
func (n *Node) succeed() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case id := <-n.leavings:
			n.replace(id)
		}
	}
}

// replace goes on until somebody leads or stands, or the timeouts have come into their own.
func (n *Node) replace(dead uint32) {
	leader, addr, _ := n.Leader()
	place := n.place(dead)
	if leader != dead || place < 0 || n.amnesiac() {
		return
	}
	n.log.Debug("the leader's connections broke off", "peer", dead)
	for sure := time.Now().Add(standSure); !n.ended(addr); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(sure) || n.ctx.Err() != nil {
			return
		}
	}
	n.log.Info("the leader's process has ended", "peer", dead)
	n.departed.Store(dead)
	defer n.departed.Store(0)
	limit := time.Now().Add(n.cfg.Election)
	pause := time.Duration(place) * standFirst
	for term := n.Term(); time.Now().Before(limit); pause = time.Duration(place+1) * standAgain {
		select {
		case <-time.After(pause):
		case <-n.ctx.Done():
			return
		}
		if leader, _, known := n.Leader(); known && leader != dead || n.raft.State() != hraft.Follower || !n.ended(addr) {
			return
		}
		if now := n.Term(); now != term { // somebody stands: it gets the time to win
			term = now
			continue
		}
		before := n.aside.Load()
		if !n.standsAside() && n.wouldWin(dead) && n.aside.Load() == before {
			n.stand()
		}
	}
}

// place is where this node is among the voters that are left; negative when it is none of them.
func (n *Node) place(dead uint32) int {
	var ids []uint32
	for _, s := range n.voters() {
		if id := transport.NodeID(s.ID); id != dead {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Index(ids, n.cfg.NodeID)
}

// ended says whether the system at an address says that nobody listens there.
func (n *Node) ended(addr string) bool {
	ctx, cancel := context.WithTimeout(n.ctx, time.Second)
	defer cancel()
	c, err := n.cfg.Dial(ctx, addr)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// wouldWin asks the other voters, and says whether a quorum would have this node lead.
func (n *Node) wouldWin(dead uint32) bool {
	index, term := n.lastRecord()
	voters, others := n.voters(), 0
	answers := make(chan bool, len(voters))
	for _, s := range voters {
		if id := transport.NodeID(s.ID); id == dead || id == n.cfg.NodeID {
			continue
		}
		others++
		n.tasks.Go(func() { // its answer has room; the exchange has a deadline
			var resp hraft.RequestPreVoteResponse
			err := n.transport.RequestPreVote(s.ID, s.Address, &hraft.RequestPreVoteRequest{Term: n.Term() + 1, LastLogIndex: index, LastLogTerm: term}, &resp)
			answers <- err == nil && resp.Granted
		})
	}
	granted := 1 // its own
	for range others {
		select {
		case yes := <-answers:
			if yes {
				granted++
			}
		case <-time.After(time.Second):
			return false
		case <-n.ctx.Done():
			return false
		}
		if granted > len(voters)/2 {
			return true
		}
	}
	return false
}

// stand has the library hold an election now. A node that leads gets a new term.
func (n *Node) stand() {
	r := hraft.RPC{Command: &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax}}, RespChan: make(chan hraft.RPCResponse, 1)}
	_ = n.transport.Offer(n.ctx, r) // refused when the node stops
}

// bereft says whether the leader this node knows is one whose process ended: the library does not give votes before the vote
// while it knows a leader.
func (n *Node) bereft() bool {
	leader, _, known := n.Leader()
	return known && leader == n.departed.Load()
}

// mayLead is the answer to a voter that asks whether it would have this node's vote. One that stands has none left, though a slow
// disk may keep it from the new term for a while.
func (n *Node) mayLead(term, lastIndex, lastTerm uint64) bool {
	yes := n.raft.State() == hraft.Follower && term > n.Term() && !(recovery.Place{Term: lastTerm, Index: lastIndex}).Before(n.end())
	if yes {
		n.aside.Store(time.Now().UnixNano())
	}
	return yes
}

// standsAside says whether another was told that it may lead, and has the time to.
func (n *Node) standsAside() bool { return time.Since(time.Unix(0, n.aside.Load())) < standAside }

// lastRecord is the end of the log, or of the snapshot that stands for it.
func (n *Node) lastRecord() (index, term uint64) {
	s := n.raft.Stats()
	at := func(key string) uint64 {
		v, _ := strconv.ParseUint(s[key], 10, 64) // the library made it from one
		return v
	}
	index, term = at("last_log_index"), at("last_log_term")
	if i := at("last_snapshot_index"); i > index {
		return i, at("last_snapshot_term")
	}
	return index, term
}
