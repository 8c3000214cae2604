package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// withFiles opens the files of a node that does not run. at is where its state is when f has returned.
func withFiles(cfg Config, f func(raft.Config, commit.Offline) error) (at state.Point, err error) {
	keys, err := OpenKeys(context.Background(), cfg)
	if err != nil {
		return at, err
	}
	skip, err := Skipped(cfg.Dir)
	if err != nil {
		return at, err
	}
	st, err := state.Open(filepath.Join(cfg.Dir, StateDir), state.Options{RetainOps: cfg.RetainOps, RetainTime: cfg.RetainTime, Keys: keys, Skip: skip})
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	err = f(raft.Config{NodeID: cfg.NodeID, Dir: filepath.Join(cfg.Dir, "raft"), Addr: cfg.Addr, Advertise: cfg.Advertise, Logger: cfg.Logger, Keys: keys}, commit.Offline{State: st})
	return st.Point(), err
}

// Restore fills a home that has no state from a backup directory, and makes its node the only member of a cluster that
// begins there. The other nodes join with empty homes.
func Restore(ctx context.Context, cfg Config, dir string, to archive.Target) (at state.Point, err error) {
	path := filepath.Join(cfg.Dir, StateDir)
	if _, err := os.Stat(filepath.Join(cfg.Dir, "raft", "log")); err == nil {
		return at, fmt.Errorf("%s has a log already: restore into an empty home", cfg.Dir)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return at, err
	}
	keys, err := OpenKeys(ctx, cfg)
	if err != nil {
		return at, err
	}
	if at, err = archive.Restore(ctx, dir, path, to, keys); err != nil {
		return at, err
	}
	_, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error { return raft.FoundAlone(rc, sm) })
	return at, err
}

// Files are what a node that does not run holds.
type Files struct {
	State state.Point
	Log   raft.Extent
}

// Check opens the files of a node that does not run, and says where its state and its log are and whether one continues
// the other; deep computes the state's hash anew.
func Check(cfg Config, deep bool) (f Files, err error) {
	f.State, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error {
		if deep {
			if err := sm.Verify(); err != nil {
				return err
			}
		}
		if f.Log, err = raft.LogExtent(rc, sm); err != nil {
			return err
		}
		if _, err := raft.Members(rc, sm); err != nil {
			return err
		}
		return f.Log.Continues(uint64(sm.Point().Index))
	})
	return f, err
}

// Members are who belongs to the cluster of a node that does not run, and where its state is.
func Members(cfg Config) (members []raft.Member, at state.Point, err error) {
	at, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) (err error) {
		members, err = raft.Members(rc, sm)
		return err
	})
	return members, at, err
}

// Recover makes a node that does not run the only member of its cluster; see raft.Recover for what that means.
func Recover(cfg Config) (at state.Point, err error) {
	return withFiles(cfg, func(rc raft.Config, sm commit.Offline) error { return raft.Recover(rc, sm) })
}

// AcceptLoss lets a node that is alone and does not run go on without the records that none of its files has, and names them;
// empty when nothing is lost.
func AcceptLoss(cfg Config) (lost string, err error) {
	_, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error {
		if !SoleNode(cfg, sm.State) {
			return errors.New("this node is a member of a cluster: start it, and it gets what it lost from the others")
		}
		loss, err := raft.AcceptLoss(rc, sm)
		if err != nil {
			return err
		}
		if loss != nil {
			lost = loss.Ranges()
		}
		log, err := raft.LogExtent(rc, sm)
		if err != nil {
			return err
		}
		unreached, err := unreached(cfg.Dir, max(log.Last, log.Snapshot))
		if err != nil {
			return err
		}
		lost = cmp.Or(lost, unreached)
		return removeIfThere(cfg.Dir, rebuildingFile) // it starts with the state that its log leads to
	})
	return lost, err
}
