package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
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

// RenewSnapshot takes a snapshot and removes all others. Saved states share files with the state as it was then: after
// those were rewritten, the old ones are only there.
func (n *Node) RenewSnapshot() error {
	if err := n.snapshotNow(); err != nil {
		return err
	}
	return n.snaps.reapOlder()
}

// snapshotAndCut takes a snapshot and leaves one record of those before it: an empty log would be taken for a lost one.
func (n *Node) snapshotAndCut() error {
	n.trailing.Store(1)
	err := n.snapshotNow()
	n.trailing.Store(n.cfg.TrailingLogs)
	return errors.Join(err, n.limitTrailing())
}

// takeSnapshot has the library take a snapshot.
func (n *Node) takeSnapshot() error { return n.await(context.Background(), n.raft.Snapshot()) }

// snapshotNow does so unless the newest one holds all that is applied.
func (n *Node) snapshotNow() error {
	if err := n.takeSnapshot(); !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}

// snapshotWhenDue is the task that takes a snapshot when the log has grown by so many bytes, or for so long, since the
// last one. The library does it when the log has grown by so many records.
func (n *Node) snapshotWhenDue() {
	done := uint64(0) // the last record that was applied before the last snapshot: the library may name an earlier one
	for range pause.Ticks(n.ctx.Done(), max(n.cfg.SnapshotInterval/dueLooks, 10*time.Millisecond)) {
		end, err := n.snaps.newest()
		applied := n.raft.AppliedIndex()
		if err != nil || applied <= max(end.Index, done) || !n.due(end.Index) {
			continue
		}
		if err := n.takeSnapshot(); err != nil && n.ctx.Err() == nil {
			n.log.Warn("no snapshot taken, though the log is long or old: trying again", "after", end.Index, "err", err)
			continue
		}
		done = applied
	}
}

// dueLooks is the number of looks of the task in a SnapshotInterval.
const dueLooks = 8

// due reports whether what the log holds behind a snapshot is long or old.
func (n *Node) due(end uint64) bool {
	bytes, oldest := n.logs.Behind(end)
	return bytes >= n.cfg.SnapshotBytes || !oldest.IsZero() && n.cfg.Now().Sub(oldest) >= n.cfg.SnapshotAge
}

// limitTrailing tells the library how many records it may leave in the log before a snapshot: as many as are
// configured, no more than the bytes that a start should read, and none that is older than a member stays away for a
// while. The library counts records only, and one may be an import of megabytes.
func (n *Node) limitTrailing() error {
	c := n.raft.ReloadableConfig()
	c.TrailingLogs = max(min(n.trailing.Load(), n.logs.NewestWithin(n.cfg.TrailingBytes, n.cfg.Now().Add(-n.cfg.TrailingAge))), 1)
	return n.raft.ReloadConfig(c)
}
