package raft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A member without state has forgotten its votes and the records that it stored: its log is gone, its home is empty,
// or its files are older than the records that it acknowledged. The cluster does not count it. It grants and requests
// no votes, stores no records and answers no heartbeats, because a leader of an older term than one it voted in would
// count its answers.
//
// It asks each leader that it hears from to take its vote away (rejoin). The leader first asks the other voters: a
// majority of them must follow it, and only members with intact state answer. They alone commit the change, so a
// deposed leader cannot make it. From then on the member stores records like a new one, but only from leaders of that
// term or newer ones, because a deposed leader would count its answers.
//
// The member has state again as soon as it knows that this change is committed: from then on it denies its vote to
// every candidate that lacks that record. Only then does it get its vote back, by a second change (checkPromotion).
// If it got the vote before it had state, and then stopped, a majority could be missing for good.
//
// Every empty home is marked as one without state at its first start, unless the node is alone: seen from inside, a
// new node and a member whose home was emptied look the same. Only a founding (see form) gives a vote without a
// leader. The mark records whether the home was empty or something was lost. Lost files may have named other members,
// so a node that lost files founds no cluster of its own, even if neither its configuration nor its remaining files
// name another node. It waits until a leader admits it.

// rejoining tracks how a member without state gets its state back.
type rejoining struct {
	amnesia  atomic.Bool               // see stateless
	admitted atomic.Pointer[admission] // nil: no leader has taken this node's vote away since it started without state
	leaders  chan hraft.Server         // the leader whose request was rejected last, until rejoin asks that leader for admission
	markTurn chan struct{}             // holds a token while the mark, and amnesia with it, changes
}

// admission identifies the change of members by which a leader took this member's vote away.
type admission struct{ index, term uint64 }

func (n *Node) amnesiaFile() string { return filepath.Join(n.cfg.Dir, "amnesia") }

// stateless reports whether this member has lost its state and must give no vote yet.
func (n *Node) stateless() bool { return n.amnesia.Load() }

// HasState reports whether this member has its state. A member without state has no vote until it has rejoined.
func (n *Node) HasState() bool { return !n.stateless() }

// The texts of the mark.
const (
	lostMark  = "this node has lost its state; no votes until it has rejoined\n"
	emptyMark = "this node's home was empty; no votes until it has founded a cluster with others, or joined one\n"
)

// markAmnesiac marks this member as one that has lost its state. The mark is on disk before any file is moved away,
// so that a crash in between cannot give the member its vote back.
func (n *Node) markAmnesiac() error { return n.markStateless(lostMark) }

// markStateless marks this member as one without state.
func (n *Node) markStateless(text string) error {
	n.markTurn <- struct{}{}
	defer func() { <-n.markTurn }()
	return n.writeMark(text)
}

// writeMark writes the mark. The caller holds markTurn.
func (n *Node) writeMark(text string) error {
	n.amnesia.Store(true)
	n.admitted.Store(nil)
	if n.offline {
		return nil
	}
	err := recovery.WriteFile(n.amnesiaFile(), []byte(text), true)
	return errors.Join(err, logstore.OS{}.SyncDir(n.cfg.Dir))
}

// readMark restores the mark of the last run.
func (n *Node) readMark() error {
	_, err := os.Stat(n.amnesiaFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	n.amnesia.Store(true)
	return err
}

// Discard moves the log and the snapshots of a stopped member aside, when the state built from them cannot be
// trusted. The member gives no vote until it has rejoined. aside is their new directory; empty if there were none.
func Discard(dir string) (aside string, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	n := &Node{cfg: Config{Dir: dir}, rejoining: rejoining{markTurn: make(chan struct{}, 1)}}
	if err := n.markAmnesiac(); err != nil {
		return "", err
	}
	aside = recovery.AsideName(dir)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	if err := recovery.SetAside(logDir(dir), logDir(aside)); err != nil {
		return "", err
	}
	if err := recovery.SetAside(snapshotDir(dir), snapshotDir(aside)); err != nil {
		return "", err
	}
	return aside, logstore.OS{}.SyncDir(dir)
}

// clearAmnesia removes the mark and lets the member vote again.
func (n *Node) clearAmnesia() {
	n.markTurn <- struct{}{}
	defer func() { <-n.markTurn }()
	if err := n.removeMark(); err != nil {
		n.log.Warn("amnesia mark not removed", "err", err)
		return
	}
	n.amnesia.Store(false)
	n.log.Info("this member has its state again")
}

// removeMark removes the mark from the disk.
func (n *Node) removeMark() error {
	if err := os.Remove(n.amnesiaFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return logstore.OS{}.SyncDir(n.cfg.Dir)
}

// markIfEmpty marks a home without configuration as one without state, unless this node is alone. It also clears term
// 1 there: a founding that crashed between storing the term and the record leaves that term without a leader.
func (n *Node) markIfEmpty() error {
	last, err := n.logs.LastIndex()
	if err != nil {
		return err
	}
	if m, err := n.snaps.newest(); err != nil || last != 0 || m.Index != 0 {
		return err
	}
	if term, err := n.votes.GetUint64([]byte(logstore.KeyTerm)); err == nil && term == 1 {
		if err := n.votes.SetUint64([]byte(logstore.KeyTerm), 0); err != nil {
			return err
		}
	}
	switch {
	case !n.stateless() && !n.cfg.Alone:
		return n.markStateless(emptyMark)
	case n.stateless() && n.cfg.Alone: // an earlier start had peers configured
		text, err := os.ReadFile(n.amnesiaFile())
		if err != nil || string(text) != emptyMark {
			return err
		}
		n.clearAmnesia()
	}
	return nil
}

var errNotAdmitted = errors.New("this node has no state and accepts no records before the leader has removed its vote")

// checkAdmitted returns an error if this member has no state and either no leader has taken its vote away, or a
// leader of a newer term than this one has. In the first case it queues the leader, so that rejoin asks it for
// admission.
func (n *Node) checkAdmitted(leader uint32, addr string, term uint64) error {
	a := n.admitted.Load()
	switch {
	case !n.stateless():
		return nil
	case a != nil && term < a.term:
		return fmt.Errorf("this node has no state, and was taken in by the leader of term %d", a.term)
	case a != nil:
		return nil
	}
	select {
	case <-n.leaders: // drop an older entry
	default:
	}
	pause.Offer(n.leaders, hraft.Server{ID: transport.ServerID(leader), Address: hraft.ServerAddress(addr)})
	return errNotAdmitted
}

func (n *Node) snapshotState(index, term uint64) error {
	s, err := n.sm.Snapshot()
	if err != nil {
		return err
	}
	defer s.Release()
	sink, err := n.snaps.Create(hraft.SnapshotVersionMax, index, term, n.onlyMember(), 1, n.transport)
	if err != nil {
		return err
	}
	return (&pendingSnapshot{Snapshot: s}).Persist(sink)
}

// rejoin is the task that, once a second, takes the next step towards having state and the vote of this node's role.
// It repeats its requests, because they are lost when the leader changes.
func (n *Node) rejoin() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var leader hraft.Server
		select {
		case <-n.ctx.Done():
			return
		case leader = <-n.leaders:
		case <-tick.C:
		}
		self, known := n.findMember(n.cfg.NodeID)
		voter := n.cfg.Role == RoleVoter
		switch _, _, led := n.Leader(); {
		case n.stateless() && n.admitted.Load() == nil:
			if leader.ID != "" {
				n.askAdmission(leader)
			}
		case !known || !led:
		case n.stateless() && n.admissionCommitted() && n.keyLogged():
			n.clearAmnesia()
		case voter && self.Suffrage != hraft.Voter:
			ctx, cancel := context.WithTimeout(n.ctx, changeTimeout)
			if _, err := n.Change(ctx, n.request("join")); err != nil {
				n.log.Info("asked the leader for this node's vote, not granted yet", "err", err)
			}
			cancel()
		}
	}
}

// askAdmission asks a leader to take this node's vote away.
func (n *Node) askAdmission(leader hraft.Server) {
	ok, err := n.askPeer(leader.Address, n.request("rejoin"))
	if err != nil {
		n.log.Warn("this node has no state, and the leader does not admit it yet", "peer", leader.ID, "err", err)
		return
	}
	n.admitted.Store(&admission{ok.Index, ok.Term})
}

// admissionCommitted reports whether this member knows that the change that took its vote away is committed.
func (n *Node) admissionCommitted() bool {
	a := n.admitted.Load() // nil when the mark has just been set
	return a != nil && n.raft.CommitIndex() >= a.index && n.Term() >= a.term
}

// demoteForRejoin is the leader's side of rejoin. The other voters must be a quorum without this member, or the
// cluster could commit nothing, not even this change. They must also follow this leader now, and only members with
// state say so. Every majority that the member may have been part of includes one of them, so none has elected a
// newer leader that this one has not heard of.
func (n *Node) demoteForRejoin(ctx context.Context, m wire.Membership) (string, uint64, error) {
	s, known := n.findMember(m.NodeID)
	if !known {
		return "", 0, fmt.Errorf("%w: node %d is not a member", ErrRefused, m.NodeID)
	}
	if m.NodeID == n.cfg.NodeID {
		return "", 0, fmt.Errorf("%w: node %d leads", ErrRefused, m.NodeID)
	}
	if err := n.checkQuorum(n.votersWithout(m.NodeID), n.readyTerm.Load()); err != nil {
		return "", 0, fmt.Errorf("%w: too few of the voters besides node %d answer and have state: start the others", ErrUnavailable, m.NodeID)
	}
	n.withPeer(m.NodeID, func(p *peerState) { p.lastLog = 0 }) // what it had before
	index, err := n.awaitCommit(ctx, n.raft.DemoteVoter(s.ID, 0, changeTimeout))
	if err != nil {
		return "", 0, err
	}
	n.setPromotion(m.NodeID, m.Role != RoleReadReplica)
	return fmt.Sprintf("node %d votes again when it has caught up", m.NodeID), index, nil
}
