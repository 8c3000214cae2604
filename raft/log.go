package raft

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
)

// storage holds a member's log, its term and vote, and its snapshots.
type storage struct {
	logs         *logstore.Store
	votes        *logstore.Votes
	records      hraft.LogStore // logs as the library uses it: with a cache, and closed to writes by the first disk failure
	disk         *logstore.Disk
	snaps        *snapshots
	loss         *recovery.LossError // the lost records of a node that is alone
	lastAtOpen   uint64              // the last record in the log when it was opened
	supersededTo atomic.Uint64       // the log may hold records up to here that a snapshot replaced
	trailing     atomic.Uint64       // records that a snapshot leaves in the log
	damaged      *damage.Files       // see Damaged
}

// logDir returns the directory of the log, the term and the vote, within a member's directory.
func logDir(dir string) string { return filepath.Join(dir, "log") }

// openLog opens the log and the vote. It moves a damaged log aside and logs its new name, and the node goes on with
// an empty log, which the leader fills (see rejoin). A node that is alone rebuilds the log from the intact records
// in its files (see salvage).
func (n *Node) openLog() error {
	path := logDir(n.cfg.Dir)
	if err := recovery.FinishSalvage(n.cfg.Dir, path); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	applied, _ := n.sm.Applied()
	covered, err := n.snaps.usable(applied)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	err = n.openStore(path, covered)
	if errors.Is(err, logstore.ErrDamaged) { // retry once: the read itself may have been wrong
		n.log.Warn("the log cannot be read, and is read again", "path", path, "err", err)
		err = n.openStore(path, covered)
	}
	if errors.Is(err, logstore.ErrDamaged) {
		if made, failed := n.salvage(path, err); failed != nil {
			return fmt.Errorf("raft log %s: %w", path, failed)
		} else if made {
			return nil
		}
		if n.offline {
			return err
		}
		if err := n.replaceLog(path, covered, err); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if why := n.missingTail(covered); why != nil {
		if made, err := n.salvage(path, why); err != nil {
			return fmt.Errorf("raft log %s: %w", path, err)
		} else if made {
			return nil
		}
		if !n.offline {
			n.log.Error("the log is older than the state, or gone: this node has no state to vote with", "path", path, "err", why)
		}
		return n.markAmnesiac()
	}
	return n.readMark()
}

// replaceLog moves a damaged log aside and opens an empty one.
func (n *Node) replaceLog(path string, covered uint64, why error) error {
	aside := recovery.AsideName(path)
	n.log.Error("raft log unreadable, moved aside", "path", path, "aside", aside, "err", why)
	if err := n.markAmnesiac(); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	if err := recovery.SetAside(path, aside); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	return n.openStore(path, covered)
}

// openStore opens the log, and the term and vote next to it. Opening reads the whole log once, because the library
// panics on a record that it cannot read. The log may begin as late as covered+1: a snapshot has the records before.
func (n *Node) openStore(path string, covered uint64) (err error) {
	n.votes = nil
	if n.logs, err = logstore.Open(path, n.storeOptions()); err == nil {
		n.votes, err = logstore.OpenVotes(n.logs, n.cfg.NoSync)
	}
	if err == nil {
		var first uint64
		if first, err = n.logs.FirstIndex(); err == nil && first > covered+1 {
			err = fmt.Errorf("%w: the log begins at record %d, and the snapshot ends at %d", logstore.ErrDamaged, first, covered)
		}
	}
	if errors.Is(err, logstore.ErrLocked) {
		err = state.ErrLocked
	}
	if err != nil {
		err = fmt.Errorf("raft log %s: %w", path, errors.Join(err, n.closeStore()))
		n.logs, n.votes = nil, nil
	}
	return err
}

// closeStore closes what openStore opened.
func (n *Node) closeStore() (err error) {
	if n.votes != nil {
		err = n.votes.Close()
	}
	if n.logs != nil {
		err = errors.Join(err, n.logs.Close())
	}
	return err
}

func (n *Node) storeOptions() logstore.Options {
	return logstore.Options{FS: n.cfg.LogFiles, Keys: n.cfg.Keys, SegmentBytes: n.cfg.SegmentBytes,
		Leads: n.leads, Failed: func(err error) { _ = n.disk.Fail(err) }, Retain: n.cfg.Retain, Lost: n.reportLostRecords}
}

// reportLostRecords reports retained records that cannot be read. The window begins after them; consensus does not
// need them.
func (n *Node) reportLostRecords(err error) {
	n.log.Error("records kept for readers of the log cannot be read", "err", err)
	n.damaged.Found(damage.File{Kind: damage.Log, Path: damage.PathOf(err, logDir(n.cfg.Dir)), Healed: true})
}

// Damaged returns the damaged files that this member found since its start and can do without: segments that the log
// retained for its readers, and snapshots. A damaged record of the log itself, or a damaged vote, stops the member
// instead.
func (n *Node) Damaged() *damage.Files { return n.damaged }

// leads reports whether this node leads. The log's store asks it from the task that stores records.
func (n *Node) leads() bool { return n.running.Load() && n.raft.State() == hraft.Leader }
