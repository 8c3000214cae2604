package raft

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
)

// A leader whose process has ended is replaced at once. The timeouts are long, because a silent leader may be slow,
// far away or gone. The end of a process is visible sooner: its system closes its connections and refuses new ones. A
// follower that sees both asks the others for pre-votes. They grant them although they know a leader, if they see the
// same and their logs are not longer. With a quorum of pre-votes it stands for election, as after TimeoutNow.
//
// So a follower that alone is cut off from a living leader changes nothing. If the system gives no signal (a machine
// without power, a network that drops packets), the timeouts decide.

// Each follower waits by its rank, before the first attempt and between attempts, so that followers do not split the
// vote.
const (
	confirmEnded = 500 * time.Millisecond // an ending process closes its sockets one after the other
	rankDelay    = 100 * time.Millisecond // per rank, before the first attempt
	retryDelay   = 50 * time.Millisecond  // per rank, between attempts
	preVoteHold  = time.Second            // a candidate with a pre-vote needs time to sync its own vote
)

// failover tracks a leader whose process may have ended.
type failover struct {
	connectionsLost chan uint32   // leaders whose connections to this node broke off
	endedLeader     atomic.Uint32 // the leader whose process is known to have ended; 0 for none
	preVoteGranted  atomic.Int64  // when this node last granted a pre-vote here, in ns
}

// connectionLost is called for each connection for heartbeats or records that ended.
func (n *Node) connectionLost(id uint32) {
	if leader, _, ok := n.Leader(); !ok || leader != id {
		return
	}
	pause.Offer(n.connectionsLost, id) // unless another one is being checked
}

// fastFailover is the task that replaces a leader whose process has ended.
func (n *Node) fastFailover() {
	for id := range pause.Received(n.ctx.Done(), n.connectionsLost) {
		n.replaceEndedLeader(id)
	}
}

// replaceEndedLeader tries to win an election in place of a leader whose process has ended. It gives up when another
// member leads or stands for election, or after an election timeout.
func (n *Node) replaceEndedLeader(dead uint32) {
	leader, addr, _ := n.Leader()
	place := n.rank(dead)
	if leader != dead || place < 0 || n.stateless() {
		return
	}
	n.log.Debug("the leader's connections were closed", "peer", dead)
	for sure := time.Now().Add(confirmEnded); !n.connectionRefused(addr); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(sure) || n.ctx.Err() != nil {
			return
		}
	}
	n.log.Info("the leader's process has ended", "peer", dead)
	n.endedLeader.Store(dead)
	defer n.endedLeader.Store(0)
	limit := time.Now().Add(n.cfg.Election)
	rest := time.Duration(place) * rankDelay
	for term := n.Term(); time.Now().Before(limit); rest = time.Duration(place+1) * retryDelay {
		if pause.For(n.ctx, rest) != nil {
			return
		}
		if leader, _, known := n.Leader(); known && leader != dead || n.raft.State() != hraft.Follower || !n.connectionRefused(addr) {
			return
		}
		if now := n.Term(); now != term { // another member stands for election: give it time to win
			term = now
			continue
		}
		before := n.preVoteGranted.Load()
		if !n.grantedPreVote() && n.wouldWin(dead) && n.preVoteGranted.Load() == before {
			n.campaign()
		}
	}
}

// rank returns this node's position, by id, among the remaining voters; negative when it is not a voter.
func (n *Node) rank(dead uint32) int {
	var ids []uint32
	for _, s := range n.votersWithout(dead) {
		ids = append(ids, transport.NodeID(s.ID))
	}
	slices.Sort(ids)
	return slices.Index(ids, n.cfg.NodeID)
}

// connectionRefused reports whether the system at an address refuses connections, because no process listens there.
func (n *Node) connectionRefused(addr string) bool {
	ctx, cancel := context.WithTimeout(n.ctx, time.Second)
	defer cancel()
	c, err := n.cfg.Dial(ctx, addr)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// wouldWin asks the other voters for pre-votes, and reports whether a quorum grants them.
func (n *Node) wouldWin(dead uint32) bool {
	index, term := n.lastRecord()
	return n.quorum(n.voters(), func(s hraft.Server) bool {
		if transport.NodeID(s.ID) == dead {
			return false
		}
		var resp hraft.RequestPreVoteResponse
		err := n.transport.RequestPreVote(s.ID, s.Address,
			&hraft.RequestPreVoteRequest{Term: n.Term() + 1, LastLogIndex: index, LastLogTerm: term}, &resp)
		return err == nil && resp.Granted
	})
}

// campaign makes the library stand for election now, as TimeoutNow does.
func (n *Node) campaign() {
	r := hraft.RPC{Command: &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax}},
		RespChan: make(chan hraft.RPCResponse, 1)}
	_ = n.transport.Offer(n.ctx, r) // fails when the node stops
}

// leaderEnded reports whether the process of the leader that this node knows has ended. The library grants no
// pre-vote while it knows a leader, so this node answers in its place.
func (n *Node) leaderEnded() bool {
	leader, _, known := n.Leader()
	return known && leader == n.endedLeader.Load()
}

// grantPreVote reports whether this node grants a pre-vote, and notes when it does. Only a follower grants one: a
// candidate has voted for itself, even while a slow disk delays its new term.
func (n *Node) grantPreVote(term, lastIndex, lastTerm uint64) bool {
	yes := n.raft.State() == hraft.Follower && term > n.Term() && !(recovery.Position{Term: lastTerm, Index: lastIndex}).Before(n.logEnd())
	if yes {
		n.preVoteGranted.Store(time.Now().UnixNano())
	}
	return yes
}

// grantedPreVote reports whether this node granted a pre-vote less than preVoteHold ago.
func (n *Node) grantedPreVote() bool {
	return time.Since(time.Unix(0, n.preVoteGranted.Load())) < preVoteHold
}

// logAndSnapshotEnds returns the positions of the last record of the log, and of the newest snapshot.
func (n *Node) logAndSnapshotEnds() (log, snapshot recovery.Position) {
	s := n.raft.Stats()
	at := func(key string) uint64 {
		v, _ := strconv.ParseUint(s[key], 10, 64) // the library formatted it
		return v
	}
	return recovery.Position{Term: at("last_log_term"), Index: at("last_log_index")},
		recovery.Position{Term: at("last_snapshot_term"), Index: at("last_snapshot_index")}
}

// lastRecord returns the last record of the log, or of the snapshot that replaced it.
func (n *Node) lastRecord() (index, term uint64) {
	last, snapshot := n.logAndSnapshotEnds()
	if snapshot.Index > last.Index {
		last = snapshot
	}
	return last.Index, last.Term
}
