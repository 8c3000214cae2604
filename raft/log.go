package raft

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/boltfile"
	"github.com/cairndb/cairn/oplog/seal"
)

// openLog opens the log and the vote. A file that cannot be read is moved aside, kept and named, and the node
// goes on with an empty one: the leader brings it up to date (see rejoin).
func (n *Node) openLog(snaps hraft.SnapshotStore) error {
	path := filepath.Join(n.cfg.Dir, "raft.db")
	if err := n.finishSalvage(); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	covered, err := n.usable(snaps)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	if n.logs, err = n.openStore(path, covered); err != nil {
		if errors.Is(err, berrors.ErrTimeout) {
			return fmt.Errorf("raft log %s: %w", path, oplog.ErrHeld)
		}
		if lacksRoom(err) || errors.Is(err, errUnkept) || errors.Is(err, seal.ErrKey) || errors.Is(err, seal.ErrPlain) || errors.Is(err, seal.ErrSealed) {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
		if n.cfg.Alone {
			if made, err := n.salvage(snaps, path, err, false); made || err != nil {
				return n.openSalvaged(snaps, path, err)
			}
		}
		if n.offline {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
		suffix := fmt.Sprintf(".corrupt-%d", time.Now().Unix())
		n.log.Error("raft log unreadable, moved aside", "path", path, "aside", path+suffix, "err", err)
		if err := n.forget(); err != nil {
			return fmt.Errorf("raft log: %w", err)
		}
		if err := setAside(path, n.cfg.Dir, suffix); err != nil {
			return fmt.Errorf("raft log: %w", err)
		}
		if n.logs, err = n.openStore(path, covered); err != nil {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
	}
	why := n.shortfall(covered)
	if n.cfg.Alone && why != nil {
		if err := n.logs.Close(); err != nil {
			return err
		}
		if made, err := n.salvage(snaps, path, why, true); made || err != nil {
			return n.openSalvaged(snaps, path, err)
		}
		if n.logs, err = n.openStore(path, covered); err != nil {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
	}
	if why != nil {
		if !n.offline {
			n.log.Error("the log is older than the state, or gone: this node has no state to vote with", "path", path, "err", why)
		}
		return n.forget()
	}
	if _, err := os.Stat(n.amnesiaFile()); err == nil {
		return n.forget()
	}
	return nil
}

// openStore opens a file, and reads it once. Up to covered, a snapshot stands for what is not there.
func (n *Node) openStore(path string, covered uint64) (_ store, err error) {
	defer caught(&err)
	s, err := n.openFile(path)
	if err != nil {
		return nil, err
	}
	if err := verify(s, covered); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// caught makes an error of a panic: bbolt panics on some damaged files.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("unreadable: %v", p)
	}
}

func (n *Node) openFile(path string) (_ store, err error) {
	defer caught(&err)
	if err := boltfile.PrepareNewest(path); err != nil {
		return nil, err
	}
	var s *raftboltdb.BoltStore
	_, err = boltfile.Map(8<<30, func(size int) (err error) {
		s, err = raftboltdb.New(raftboltdb.Options{Path: path, NoSync: n.cfg.NoSync, MsgpackUseNewTimeFormat: true, BoltOptions: &bbolt.Options{
			Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, OpenFile: n.cfg.OpenFile, InitialMmapSize: size}})
		return err
	})
	if err != nil {
		return nil, err
	}
	file, err := sumLog(s, n.cfg.WriteLog)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	j, err := openJournal(file, journalPath(path), n.cfg, n.leads, func(err error) { _ = n.breaks(err) })
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	whole, err := sealStore(j, n.cfg.Keys)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return whole, nil
}

// setAside renames a log's file, and its journal with it.
func setAside(path, to, suffix string) error {
	for _, path := range []string{path, journalPath(path)} {
		if err := os.Rename(path, filepath.Join(to, filepath.Base(path)+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
