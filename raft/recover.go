package raft

import (
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
)

// The functions here work on the files of a stopped node.

// FoundAlone gives a stopped node a log that begins where its restored state ends, with the node as the only member.
// Others can join it later. It rejects a home that already has a log or a snapshot. The log must not begin at 1
// again: the state would skip its records, because it has already applied these indexes.
func FoundAlone(cfg Config, sm StateMachine) error {
	return offline(cfg, sm, func(n *Node) error {
		has, err := hraft.HasExistingState(n.logs, n.votes, n.snaps)
		if err != nil {
			return err
		}
		if has {
			return fmt.Errorf("%s has a log already", cfg.Dir)
		}
		index, term := n.sm.Applied()
		if err := n.snapshotState(index, term); err != nil {
			return err
		}
		if err := n.votes.SetUint64([]byte(logstore.KeyTerm), term); err != nil {
			return err
		}
		n.log.Info("restored as a new single-node cluster", "index", index, "term", term)
		return n.removeMark()
	})
}

// Members returns the members of the cluster that a stopped node's files name.
func Members(cfg Config, sm StateMachine) (members []Member, err error) {
	err = offline(cfg, sm, func(n *Node) error {
		c, err := hraft.GetConfiguration(n.library(), &fsm{sm: n.sm, disk: n.logs.WaitSynced}, n.logs, n.votes, n.snaps, n.transport)
		if err != nil {
			return err
		}
		for _, s := range c.Servers {
			members = append(members, member(s))
		}
		return nil
	})
	return members, err
}

// An Extent describes the content of a node's log.
type Extent struct {
	First, Last uint64 // indexes of records; 0 if there are none
	Snapshot    uint64 // index of the newest snapshot; 0 if there is none
}

// LogExtent returns the extent of a stopped node's log.
func LogExtent(cfg Config, sm StateMachine) (e Extent, err error) {
	err = offline(cfg, sm, func(n *Node) (err error) {
		if e.First, err = n.logs.FirstIndex(); err != nil {
			return err
		}
		if e.Last, err = n.logs.LastIndex(); err != nil {
			return err
		}
		last, err := n.snaps.newest()
		e.Snapshot = last.Index
		return err
	})
	return e, err
}

// Continues returns an error if a state at an index cannot continue with this log.
func (e Extent) Continues(applied uint64) error {
	switch {
	case e.First > max(applied, e.Snapshot)+1:
		return fmt.Errorf("the log begins at %d, and the state ends at %d: the records between are lost", e.First, applied)
	case applied > max(e.Last, e.Snapshot):
		return fmt.Errorf("the state is at %d, and the log ends at %d: its tail is lost", applied, max(e.Last, e.Snapshot))
	}
	return nil
}

// Recover makes a node the only member of its cluster, with all records in its log. Records that a majority without
// this node acknowledged are lost, and records that were never acknowledged may be applied. The other nodes must
// never run again with their present homes.
func Recover(cfg Config, sm StateMachine) error {
	return offline(cfg, sm, func(n *Node) error {
		if n.stateless() {
			return errors.New("this node has lost its log: recover from another, or restore a backup")
		}
		f := &fsm{sm: n.sm, disk: n.logs.WaitSynced}
		err := hraft.RecoverCluster(n.library(), f, n.logs, n.votes, n.snaps, n.transport, n.onlyMember())
		if f.last != nil {
			f.last.abandon() // the library may not have written it, and an open snapshot would keep the state from closing
		}
		return err
	})
}

// offline opens the log of a stopped node without joining the cluster: it neither dials nor listens.
func offline(cfg Config, sm StateMachine, f func(*Node) error) (err error) {
	cfg = cfg.withDefaults()
	cfg.Alone = cfg.acceptLoss
	n := newNode(cfg, sm)
	n.offline = true
	defer n.cancel()
	if err := n.makeDirs(); err != nil {
		return err
	}
	if err := n.openLog(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.closeStore()) }()
	return f(n)
}
