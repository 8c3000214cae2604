package raft

import (
	"context"
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"
)

// CutBehind deletes all records before an index from this member's log and from the log's files, and all snapshots that
// end before it. Otherwise members that join would be sent memories that were erased from the state there. Of the
// records up to the index that are kept for readers it leaves what erased makes of them: nil leaves a record as it is.
func (n *Node) CutBehind(index uint64, erased func(index uint64, data []byte) ([]byte, error)) error {
	behind := func() (bool, error) {
		first, err := n.logs.FirstIndex()
		if err != nil {
			return false, err
		}
		end, err := n.snaps.newest()
		return first != 0 && first < index || end.Index < index, err
	}
	if yes, err := behind(); err != nil {
		return err
	} else if yes {
		if err := n.snapshotAndCut(); err != nil {
			return err
		}
	}
	if yes, err := behind(); err != nil || yes {
		return errors.Join(err, fmt.Errorf("the log still holds records before %d", index))
	}
	if err := n.disk.Try(func() error { return n.logs.Erase(index+1, erased) }); err != nil {
		return err
	}
	return n.snaps.reap(index)
}

// ResealLog brings what the log held when this process opened it, and the vote, under the active key.
func (n *Node) ResealLog() error {
	return n.disk.Try(func() error { return errors.Join(n.logs.Reseal(n.lastAtOpen), n.votes.Reseal()) })
}

// ResealSnapshots puts a new snapshot in the place of those that there were when this process opened them. It fails
// until something was written since.
func (n *Node) ResealSnapshots() error {
	end, err := n.snaps.newest()
	if err != nil || end.Index == 0 {
		return err
	}
	if end.Index <= n.lastAtOpen {
		if n.raft.AppliedIndex() <= n.lastAtOpen {
			return fmt.Errorf("nothing was written since record %d", n.lastAtOpen)
		}
		if err := n.await(context.Background(), n.raft.Snapshot()); err != nil {
			return err
		}
		if end, err = n.snaps.newest(); err != nil || end.Index <= n.lastAtOpen {
			return errors.Join(err, fmt.Errorf("the newest snapshot is at record %d, want one after %d", end.Index, n.lastAtOpen))
		}
	}
	return n.snaps.reap(n.lastAtOpen + 1)
}

// snapshotAndCut takes a snapshot and leaves one record of those before it: an empty log would be taken for a lost one.
func (n *Node) snapshotAndCut() error {
	n.trailing.Store(1)
	err := n.await(context.Background(), n.raft.Snapshot())
	if errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		err = nil
	}
	n.trailing.Store(n.cfg.TrailingLogs)
	return errors.Join(err, n.limitTrailing())
}

// limitTrailing tells the library how many records it may leave in the log before a snapshot: as many as are
// configured, and no more than the bytes that a start should read. The library counts records only, and one may be an
// import of megabytes.
func (n *Node) limitTrailing() error {
	c := n.raft.ReloadableConfig()
	c.TrailingLogs = max(min(n.trailing.Load(), n.logs.NewestWithin(n.cfg.TrailingBytes)), 1)
	return n.raft.ReloadConfig(c)
}
