package raft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A member without state has forgotten whom it voted for and which records it took: its log is gone, its home is empty, or its
// files are older than what it acknowledged. It is counted for nothing. It gives no vote and asks for none, and it takes no
// record and answers no heartbeat, for a leader of an older term than one that it voted for would count its answers. It asks
// each leader that it hears of to take its vote away (rejoin). That leader first asks the other voters: a majority of them, who
// remember, must follow it. The change is committed by the others alone, so a leader that was deposed meanwhile cannot make it.
// From then on the member takes records like a new one, is brought up to date, and gets the vote back by a second change.
//
// Every home that is empty is marked so at its first start, unless the node is alone: a member of an existing cluster whose
// home was emptied looks the same as a new one. Only a founding (see form) gives the vote without a leader.

func (n *Node) amnesiaFile() string { return filepath.Join(n.cfg.Dir, "amnesia") }

// amnesiac says whether this node has no state to vote with, and must not give a vote yet.
func (n *Node) amnesiac() bool { return n.amnesia.Load() }

// Whole says whether this member remembers what it voted and took, as one without state does not until it has rejoined.
func (n *Node) Whole() bool { return !n.amnesiac() }

// markAmnesiac marks this member as one without state, on disk, before anything goes away.
func (n *Node) markAmnesiac() error {
	n.amnesia.Store(true)
	n.admitted.Store(false)
	if n.offline {
		return nil
	}
	f, err := os.OpenFile(n.amnesiaFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("this node has no state to vote with; no votes until it has rejoined\n")
	return errors.Join(err, f.Sync(), f.Close(), recovery.SyncDir(n.cfg.Dir))
}

// Discard moves the log and the snapshots of a member that does not run aside, when what its state was built of cannot be
// trusted. It gives no vote until it has rejoined. Aside is where they are; empty when there were none.
func Discard(dir string) (aside string, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	n := &Node{cfg: Config{Dir: dir}}
	if err := n.markAmnesiac(); err != nil { // before anything goes away
		return "", err
	}
	aside = recovery.AsideName(dir)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	if err := recovery.SetAside(logDir(dir), logDir(aside)); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(dir, "snapshots"), filepath.Join(aside, "snapshots")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return aside, recovery.SyncDir(dir)
}

// clearAmnesia ends the amnesia.
func (n *Node) clearAmnesia() {
	if err := n.removeMark(); err != nil {
		n.log.Warn("amnesia mark stays", "err", err)
		return
	}
	n.amnesia.Store(false)
	n.log.Info("this member has state again, and may vote")
}

// removeMark removes the mark that markAmnesiac left.
func (n *Node) removeMark() error {
	if err := os.Remove(n.amnesiaFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return recovery.SyncDir(n.cfg.Dir)
}

// markEmpty marks a home that has no configuration, and has it ready to be founded: a founding that a crash ended between the
// term and the record leaves a term without a leader.
func (n *Node) markEmpty(snaps hraft.SnapshotStore) error {
	last, err := n.logs.LastIndex()
	if err != nil {
		return err
	}
	upTo, err := newest(snaps)
	if err != nil || last != 0 || upTo != 0 {
		return err
	}
	if term, err := n.votes.GetUint64([]byte(logstore.KeyTerm)); err == nil && term == 1 {
		if err := n.votes.SetUint64([]byte(logstore.KeyTerm), 0); err != nil {
			return err
		}
	}
	if n.cfg.Alone {
		return nil
	}
	return n.markAmnesiac()
}

var errNotAdmitted = errors.New("this node has no state, and takes nothing before the leader has taken its vote away")

// refusesUntilAdmitted refuses what a leader sends while this member has no state and no leader has taken its vote away. It notes the
// leader, which rejoin asks for that.
func (n *Node) refusesUntilAdmitted(leader uint32, addr string) error {
	if !n.amnesiac() || n.admitted.Load() {
		return nil
	}
	n.admitter.Store(&hraft.Server{ID: transport.ServerID(leader), Address: hraft.ServerAddress(addr)})
	select {
	case n.admitterHeard <- struct{}{}:
	default: // one is being asked
	}
	return errNotAdmitted
}

// refound gives the only member there is a log that begins where its state ends: records of a log that began anew would be
// passed over as applied already.
func (n *Node) refound(snaps hraft.SnapshotStore) error {
	index, term := n.sm.Applied()
	if list, err := snaps.List(); err != nil {
		return err
	} else if len(list) > 0 && list[0].Index >= index {
		index, term = list[0].Index, list[0].Term
	} else if index > 0 {
		if err := n.snapshotState(snaps, index, term); err != nil {
			return err
		}
	}
	if err := n.votes.SetUint64([]byte(logstore.KeyTerm), term); err != nil {
		return err
	}
	n.log.Warn("restored as a new single-node cluster", "index", index, "term", term)
	n.clearAmnesia()
	return nil
}

func (n *Node) snapshotState(snaps hraft.SnapshotStore, index, term uint64) error {
	s, err := n.sm.Snapshot()
	if err != nil {
		return err
	}
	defer s.Release()
	sink, err := snaps.Create(hraft.SnapshotVersionMax, index, term, n.onlyMember(), 1, n.transport)
	if err != nil {
		return err
	}
	return (&held{Snapshot: s}).Persist(sink)
}

// rejoin works, once a second, on what this node is not yet and is to be: whole, and what its role says. The leader forgets
// what it was asked when it goes; the node does not.
func (n *Node) rejoin() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var since uint64 // index at which the others took the vote away
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.admitterHeard:
		case <-tick.C:
		}
		self, known := n.find(n.cfg.NodeID)
		voter := n.cfg.Role == "voter"
		switch _, _, led := n.Leader(); {
		case n.amnesiac() && !n.admitted.Load():
			since = n.askAdmission()
		case !known || !led:
		case n.amnesiac() && (self.Suffrage == hraft.Voter || !voter) && n.raft.LastIndex() > since: // a replica may have been promoted meanwhile
			n.clearAmnesia()
		case voter && self.Suffrage != hraft.Voter:
			if _, err := n.askMembership("join"); err != nil {
				n.log.Info("no vote yet", "err", err)
			}
		}
	}
}

// askAdmission asks the leader that has sent something last to take this node's vote away, and returns where in the log it did.
func (n *Node) askAdmission() (since uint64) {
	leader := n.admitter.Swap(nil)
	if leader == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(n.ctx, changeTimeout)
	defer cancel()
	var ok wire.MembershipOK
	m := &wire.Membership{Action: "rejoin", NodeID: n.cfg.NodeID, Addr: n.cfg.Advertise, Role: n.cfg.Role}
	if err := n.transport.Pool.Call(ctx, string(leader.Address), transport.ForForward, wire.OpMembership, m, wire.OpMembershipOK, &ok); err != nil {
		n.log.Warn("this node has no state, and the leader does not take it in yet", "peer", leader.ID, "err", err)
		return 0
	}
	n.admitted.Store(true)
	return ok.Index
}

func (n *Node) askMembership(action string) (ok wire.MembershipOK, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, changeTimeout)
	defer cancel()
	m := &wire.Membership{Action: action, NodeID: n.cfg.NodeID, Addr: n.cfg.Advertise, Role: n.cfg.Role}
	return ok, n.askLeader(ctx, wire.OpMembership, m, wire.OpMembershipOK, &ok)
}

// demoteForRejoin is the leader's side of rejoin. The others must be enough without the vote that goes, or the cluster could commit
// nothing, not even that it goes; and they must follow this leader now, as only members with state say. Every majority that
// the member may have been part of has one of them, so none has made a newer leader that this one has not heard of.
func (n *Node) demoteForRejoin(ctx context.Context, m wire.Membership) (ok wire.MembershipOK, err error) {
	s, known := n.find(m.NodeID)
	if !known {
		return ok, fmt.Errorf("%w: node %d is no member", ErrRefused, m.NodeID)
	}
	if m.NodeID == n.cfg.NodeID {
		return ok, fmt.Errorf("%w: node %d leads", ErrRefused, m.NodeID)
	}
	others := slices.DeleteFunc(n.voters(), func(o hraft.Server) bool { return o.ID == s.ID })
	if err := n.followedBy(others, n.ready.Load()); err != nil {
		return ok, fmt.Errorf("%w: of the voters besides node %d too few are there that have state: start the others", ErrUnavailable, m.NodeID)
	}
	n.mu.Lock()
	n.peer(m.NodeID).lastLog = 0 // what it had before
	n.mu.Unlock()
	f := n.raft.DemoteVoter(s.ID, 0, changeTimeout)
	if err := n.agreedOn(ctx, f); err != nil {
		return ok, err
	}
	n.want(m.NodeID, m.Role != "read_replica")
	return wire.MembershipOK{Message: fmt.Sprintf("node %d votes again when it has caught up", m.NodeID), Index: f.Index()}, nil
}
