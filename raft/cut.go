package raft

import (
	"errors"
	"fmt"
	"os"

	hraft "github.com/hashicorp/raft"
)

// CutBehind leaves nothing in this member's log from before an index, and no snapshot from before it: what was erased from the state
// there would be sent to members that join, from either. Nor do the log's files hold it.
func (n *Node) CutBehind(index uint64) error {
	snaps, err := n.openSnapshots()
	if err != nil {
		return err
	}
	behind := func() (bool, error) {
		first, err := n.logs.FirstIndex()
		if err != nil {
			return false, err
		}
		end, err := newest(snaps)
		return first != 0 && first < index || end < index, err
	}
	if yes, err := behind(); err != nil {
		return err
	} else if yes {
		if err := n.snapshotAndCut(); err != nil {
			return err
		}
	}
	if yes, err := behind(); err != nil || yes {
		return errors.Join(err, fmt.Errorf("the log still reaches behind record %d", index))
	}
	if err := n.disk.Try(n.logs.Erase); err != nil {
		return err
	}
	list, err := snaps.List()
	for _, m := range list {
		if m.Index < index {
			err = errors.Join(err, os.RemoveAll(checked{n: n}.path(m.ID)))
		}
	}
	return err
}

// CutOpened leaves nothing in the log and the snapshots of what they held when this process opened them. It fails until something was written since.
func (n *Node) CutOpened() error {
	if n.raft.AppliedIndex() <= n.opened {
		return fmt.Errorf("nothing was written since record %d", n.opened)
	}
	return n.CutBehind(n.opened + 1)
}

// snapshotAndCut takes a snapshot and leaves one record of those before it: an empty log would be taken for a lost one.
func (n *Node) snapshotAndCut() error {
	trailing := func(records uint64) error {
		c := n.raft.ReloadableConfig()
		c.TrailingLogs = records
		return n.raft.ReloadConfig(c)
	}
	if err := trailing(1); err != nil {
		return err
	}
	err := n.await(n.raft.Snapshot())
	if errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		err = nil
	}
	return errors.Join(err, trailing(n.cfg.TrailingLogs))
}
