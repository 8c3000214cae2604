package raft

import (
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
)

// The functions here work on the files of a node that does not run.

// FoundAlone gives a stopped node whose state came from elsewhere a log that begins where that state ends, with the
// node as the only member. Others join it. It rejects a home that has a log or a snapshot. The log must not begin at
// 1 again: the state would skip its records, because it has already applied these indexes.
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
		n.log.Warn("restored as a new single-node cluster", "index", index, "term", term)
		return n.removeMark()
	})
}

// Members are the members of the cluster as a stopped node has them on disk.
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
	First, Last uint64 // records; 0 when there are none
	Snapshot    uint64 // the newest; 0 for none
}

// LogExtent is the extent of a stopped node's log.
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

// Recover makes a node the only member of its cluster, with all that its log holds: records that a majority without
// this node acknowledged are lost, and records that were never acknowledged may be applied. The others must never run
// again with the homes they have.
func Recover(cfg Config, sm StateMachine) error {
	return offline(cfg, sm, func(n *Node) error {
		if n.stateless() {
			return errors.New("this node has lost its log: recover from another, or restore a backup")
		}
		f := &fsm{sm: n.sm, disk: n.logs.WaitSynced}
		err := hraft.RecoverCluster(n.library(), f, n.logs, n.votes, n.snaps, n.transport, n.onlyMember())
		if f.last != nil {
			f.last.abandon() // the library may not have come to write it, and the state could not close
		}
		return err
	})
}

// offline opens the log of a stopped node without taking part: it dials and listens nowhere.
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
