package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
)

// PurgeBefore deletes all records before an index from this member's log and from the log's files, and all snapshots
// that end before it. Otherwise a member that joins would get memories that were erased from the state. In the
// records that remain, up to and including the index, it replaces the data with the result of erased; nil leaves a
// record unchanged.
func (n *Node) PurgeBefore(index uint64, erased func(index uint64, data []byte) ([]byte, error)) error {
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
		if err := n.snapshotAndCompact(); err != nil {
			return err
		}
	}
	if yes, err := behind(); err != nil || yes {
		return errors.Join(err, fmt.Errorf("the log still holds records before %d", index))
	}
	if err := n.disk.Try(func() error { return n.logs.Erase(index+1, erased) }); err != nil {
		return err
	}
	return n.snaps.removeOld(index)
}

// ResealLog encrypts the vote, and the records that the log had when this process opened it, under the active key.
func (n *Node) ResealLog() error {
	return n.disk.Try(func() error { return errors.Join(n.logs.Reseal(n.lastAtOpen), n.votes.Reseal()) })
}

// RenewSnapshot takes a snapshot and removes all others. Saved states share files with the state of their time.
// After the state has rewritten its files, only old snapshots refer to the old ones.
func (n *Node) RenewSnapshot() error {
	if err := n.snapshotNow(); err != nil {
		return err
	}
	return n.snaps.removeAllButNewest()
}

// snapshotAndCompact takes a snapshot and leaves one record before it, because an empty log looks like a lost one.
func (n *Node) snapshotAndCompact() error {
	n.trailing.Store(1)
	err := n.snapshotNow()
	n.trailing.Store(n.cfg.TrailingLogs)
	return errors.Join(err, n.limitTrailing())
}

// takeSnapshot makes the library take a snapshot.
func (n *Node) takeSnapshot() error { return n.await(context.Background(), n.raft.Snapshot()) }

// snapshotNow takes a snapshot, unless the newest one already includes every applied record.
func (n *Node) snapshotNow() error {
	if err := n.takeSnapshot(); !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}

// snapshotWhenDue is the task that takes a snapshot when the log has grown by SnapshotBytes, or its oldest record has
// reached SnapshotAge. The library itself counts only records.
func (n *Node) snapshotWhenDue() {
	done := uint64(0) // applied index at the last snapshot; the library may label the snapshot with an earlier record
	for range pause.Ticks(n.ctx.Done(), max(n.cfg.SnapshotInterval/checksPerInterval, 10*time.Millisecond)) {
		end, err := n.snaps.newest()
		applied := n.raft.AppliedIndex()
		if err != nil || applied <= max(end.Index, done) || !n.snapshotDue(end.Index) {
			continue
		}
		if err := n.takeSnapshot(); err != nil && n.ctx.Err() == nil {
			n.log.Warn("no snapshot taken, though the log is long or old: trying again", "after", end.Index, "err", err)
			continue
		}
		done = applied
	}
}

// checksPerInterval is the number of checks that snapshotWhenDue makes in one SnapshotInterval.
const checksPerInterval = 8

// snapshotDue reports whether the records after the last snapshot are large enough, or old enough, for another one.
func (n *Node) snapshotDue(end uint64) bool {
	bytes, oldest := n.logs.SizeAfter(end)
	return bytes >= n.cfg.SnapshotBytes || !oldest.IsZero() && n.cfg.Now().Sub(oldest) >= n.cfg.SnapshotAge
}

// limitTrailing sets how many records the library leaves in the log before a snapshot: at most TrailingLogs, at most
// about TrailingBytes, and none much older than TrailingAge. The library counts records only, and one record may be
// an import of megabytes.
func (n *Node) limitTrailing() error {
	c := n.raft.ReloadableConfig()
	c.TrailingLogs = max(min(n.trailing.Load(), n.logs.NewestWithin(n.cfg.TrailingBytes, n.cfg.Now().Add(-n.cfg.TrailingAge))), 1)
	return n.raft.ReloadConfig(c)
}
