package raft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// A node whose log is gone has forgotten whom it voted for and which records it took. It must not vote again until
// neither can be missed: it asks the leader to take its vote away (rejoin), is brought up to date like a new member,
// and gets the vote back by a second change of the configuration. Both changes are committed by the others alone, so
// a leader that was deposed meanwhile can do neither. Until then it takes records, and that keeps the cluster going.

func (n *Node) amnesiaFile() string { return filepath.Join(n.cfg.Dir, "amnesia") }

// amnesiac says whether this node has lost its vote and must not give another yet.
func (n *Node) amnesiac() bool { return n.lost.Load() }

// Whole says whether this member remembers what it voted and took, as one that has lost its log does not until it has
// rejoined.
func (n *Node) Whole() bool { return !n.amnesiac() }

// forget marks the log as lost, on disk, before anything of it goes away.
func (n *Node) forget() error {
	n.lost.Store(true)
	if n.offline {
		return nil
	}
	f, err := os.OpenFile(n.amnesiaFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("the log was lost; no votes until this node has rejoined\n")
	return errors.Join(err, f.Sync(), f.Close(), syncDir(n.cfg.Dir))
}

// Discard moves the log and the snapshots of a member that does not run aside, when what its state was built of cannot be
// trusted. It gives no vote until it has rejoined. Aside is where they are; empty when there were none.
func Discard(dir string) (aside string, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	n := &Node{cfg: Config{Dir: dir}}
	if err := n.forget(); err != nil { // before anything goes away
		return "", err
	}
	for at := time.Now().Unix(); ; at++ { // what was moved aside before stays as it is
		aside = fmt.Sprintf("%s.corrupt-%d", dir, at)
		if err := os.Mkdir(aside, 0o700); err == nil {
			break
		} else if !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	if err := setAside(filepath.Join(dir, "raft.db"), aside, ""); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(dir, "snapshots"), filepath.Join(aside, "snapshots")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return aside, syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remember ends the amnesia.
func (n *Node) remember() {
	if err := os.Remove(n.amnesiaFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		n.log.Warn("amnesia mark stays", "err", err)
		return
	}
	n.lost.Store(false)
	n.log.Info("whole again after a lost log")
}

// lostLog says whether the log is empty though the state was built from one, of which a snapshot holds what is up to covered:
// somebody removed the file.
func (n *Node) lostLog(covered uint64) (bool, error) {
	last, err := n.logs.LastIndex()
	if err != nil || last != 0 {
		return false, err
	}
	applied, _ := n.sm.Applied()
	term, err := n.logs.GetUint64([]byte(keyTerm))
	forgotten := err != nil || term == 0
	return applied > covered || applied != 0 && forgotten, nil
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
	if err := n.logs.SetUint64([]byte(keyTerm), term); err != nil {
		return err
	}
	n.log.Warn("restored as a new single-node cluster", "index", index, "term", term)
	n.remember()
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

// rejoin works, once a second, on what this node is not yet and is to be: whole, and a voter. The leader forgets what
// it was asked when it goes; the node does not.
func (n *Node) rejoin() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var since uint64 // index at which the others took the vote away; 0 while they have not
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		self, known := n.find(n.cfg.NodeID)
		_, _, led := n.Leader()
		if !known || !led || n.cfg.Role != "voter" {
			continue
		}
		switch {
		case n.amnesiac() && since == 0:
			ok, err := n.askMembership("rejoin")
			if err != nil {
				n.log.Warn("the vote stays lost", "err", err)
				continue
			}
			since = ok.Index
		case n.amnesiac() && self.Suffrage == hraft.Voter && n.raft.LastIndex() > since:
			n.remember()
		case self.Suffrage != hraft.Voter:
			if _, err := n.askMembership("join"); err != nil {
				n.log.Info("no vote yet", "err", err)
			}
		}
	}
}

func (n *Node) askMembership(action string) (ok wire.MembershipOK, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, changeTimeout)
	defer cancel()
	m := &wire.Membership{Action: action, NodeID: n.cfg.NodeID, Addr: n.cfg.Advertise, Role: n.cfg.Role}
	return ok, n.askLeader(ctx, wire.OpMembership, m, wire.OpMembershipOK, &ok)
}

// takeVote is the leader's side of rejoin. It waits for all the others: with one of them away as well, the cluster
// could commit nothing without the vote that goes, not even that it goes. So they are asked now: that one was heard a
// moment ago says nothing.
func (n *Node) takeVote(m wire.Membership) (ok wire.MembershipOK, err error) {
	s, known := n.find(m.NodeID)
	if !known {
		return ok, fmt.Errorf("%w: node %d is no member", ErrRefused, m.NodeID)
	}
	if m.NodeID == n.cfg.NodeID {
		return ok, fmt.Errorf("%w: node %d leads", ErrRefused, m.NodeID)
	}
	for _, other := range n.voters() {
		if id := nodeID(other.ID); id != n.cfg.NodeID && id != m.NodeID && !n.follows(other, n.Term()) {
			return ok, fmt.Errorf("%w: node %d is away, and the cluster needs one that remembers", ErrUnavailable, id)
		}
	}
	f := n.raft.DemoteVoter(s.ID, 0, changeTimeout)
	if err := n.await(f); err != nil {
		return ok, meaning(err)
	}
	n.want(m.NodeID, true)
	return wire.MembershipOK{Message: fmt.Sprintf("node %d votes again when it has caught up", m.NodeID), Index: f.Index()}, nil
}
