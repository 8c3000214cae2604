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
	confirmEnded = 500 * time.Millisecond // a process that ends closes one thing after the other
	rankDelay    = 100 * time.Millisecond // for each place
	retryDelay   = 50 * time.Millisecond  // and for each place as much again
	promiseTime  = time.Second            // for one whom this node has told that it may lead: it syncs its vote first
)

// connectionLost is told of each connection for heartbeats or records that ended.
func (n *Node) connectionLost(id uint32) {
	if leader, _, ok := n.Leader(); !ok || leader != id {
		return
	}
	select {
	case n.connectionsLost <- id:
	default: // one is being looked into
	}
}

// fastFailover is the task that replaces leaders whose process ended.
func (n *Node) fastFailover() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case id := <-n.connectionsLost:
			n.replaceEnded(id)
		}
	}
}

// replaceEnded goes on until a member leads or stands, or the timeouts decide.
func (n *Node) replaceEnded(dead uint32) {
	leader, addr, _ := n.Leader()
	place := n.rank(dead)
	if leader != dead || place < 0 || n.amnesiac() {
		return
	}
	n.log.Debug("the leader's connections broke off", "peer", dead)
	for sure := time.Now().Add(confirmEnded); !n.refuses(addr); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(sure) || n.ctx.Err() != nil {
			return
		}
	}
	n.log.Info("the leader's process has ended", "peer", dead)
	n.endedLeader.Store(dead)
	defer n.endedLeader.Store(0)
	limit := time.Now().Add(n.cfg.Election)
	pause := time.Duration(place) * rankDelay
	for term := n.Term(); time.Now().Before(limit); pause = time.Duration(place+1) * retryDelay {
		select {
		case <-time.After(pause):
		case <-n.ctx.Done():
			return
		}
		if leader, _, known := n.Leader(); known && leader != dead || n.raft.State() != hraft.Follower || !n.refuses(addr) {
			return
		}
		if now := n.Term(); now != term { // a member stands: it gets the time to win
			term = now
			continue
		}
		before := n.promised.Load()
		if !n.hasPromised() && n.wouldWin(dead) && n.promised.Load() == before {
			n.campaign()
		}
	}
}

// rank is where this node is among the voters that are left; negative when it is none of them.
func (n *Node) rank(dead uint32) int {
	var ids []uint32
	for _, s := range n.voters() {
		if id := transport.NodeID(s.ID); id != dead {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Index(ids, n.cfg.NodeID)
}

// refuses says whether the system at an address says that no process listens there.
func (n *Node) refuses(addr string) bool {
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

// campaign has the library hold an election now. A node that leads gets a new term.
func (n *Node) campaign() {
	r := hraft.RPC{Command: &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax}}, RespChan: make(chan hraft.RPCResponse, 1)}
	_ = n.transport.Offer(n.ctx, r) // refused when the node stops
}

// leaderEnded says whether the leader this node knows is one whose process ended: the library does not give votes before the vote
// while it knows a leader.
func (n *Node) leaderEnded() bool {
	leader, _, known := n.Leader()
	return known && leader == n.endedLeader.Load()
}

// promise is the answer to a voter that asks whether it would have this node's vote. One that stands has none left, though a slow
// disk may keep it from the new term for a while.
func (n *Node) promise(term, lastIndex, lastTerm uint64) bool {
	yes := n.raft.State() == hraft.Follower && term > n.Term() && !(recovery.Place{Term: lastTerm, Index: lastIndex}).Before(n.end())
	if yes {
		n.promised.Store(time.Now().UnixNano())
	}
	return yes
}

// hasPromised says whether another was told that it may lead, and has the time to.
func (n *Node) hasPromised() bool { return time.Since(time.Unix(0, n.promised.Load())) < promiseTime }

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
