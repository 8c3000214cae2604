package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft"
)

// ErrNone says that a directory has neither the state nor the log of a node.
var ErrNone = errors.New("no node has run in this home")

// CheckUsed returns ErrNone for a directory that is not the home of a node.
func CheckUsed(dir string) error {
	for _, name := range []string{StateDir, raftDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", dir, ErrNone)
}

// withFiles opens the files of a stopped node and calls f. at is the point of the state after f.
func withFiles(cfg Config, f func(raft.Config, commit.Offline) error) (at state.Point, err error) {
	if err := CheckUsed(cfg.Dir); err != nil {
		return at, err
	}
	keys, err := OpenKeys(context.Background(), cfg)
	if err == nil {
		err = Usable(cfg.Dir)
	}
	if err != nil {
		return at, err
	}
	return withFilesIn(cfg.Dir, cfg, keys, f)
}

// withFilesIn is like withFiles, for state and log in another directory of the home.
func withFilesIn(dir string, cfg Config, keys *seal.Ring, f func(raft.Config, commit.Offline) error) (at state.Point, err error) {
	skip, err := Skipped(cfg.Dir)
	if err != nil {
		return at, err
	}
	st, err := state.Open(filepath.Join(dir, StateDir),
		state.Options{RetainOps: cfg.RetainOps, RetainTime: cfg.RetainTime, Keys: keys, Skip: skip})
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	err = f(raft.Config{NodeID: cfg.NodeID, Dir: filepath.Join(dir, raftDir), Addr: cfg.Addr, Advertise: cfg.Advertise,
		Logger: cfg.Logger, Keys: keys}, commit.Offline{State: st})
	return st.Point(), err
}

// Restore fills a home without a state from a backup directory, and makes its node the only member of a new cluster.
// The other nodes join with empty homes. Restore is all or nothing: it first removes the remains of an interrupted
// one.
func Restore(ctx context.Context, cfg Config, dir string, to archive.Target) (at state.Point, err error) {
	if err := placeRestored(cfg.Dir); err != nil {
		return at, err
	}
	if err := private.MakeDir(cfg.Dir); err != nil {
		return at, err
	}
	for _, name := range []string{raftDir, StateDir} {
		// Remove fails unless the folder is empty.
		if err := os.Remove(filepath.Join(cfg.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return at, fmt.Errorf("%s has a folder %s already: restore into an empty home", cfg.Dir, name)
		}
	}
	part := filepath.Join(cfg.Dir, restoringDir)
	if err := os.RemoveAll(part); err != nil {
		return at, err
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return at, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	if err := syncwriter.Dir(cfg.Dir); err != nil {
		return at, err
	}
	keys, err := OpenKeys(ctx, cfg)
	if err != nil {
		return at, err
	}
	if at, err = archive.Restore(ctx, dir, filepath.Join(part, StateDir), to, keys); err != nil {
		return at, err
	}
	if _, err = withFilesIn(part, cfg, keys, func(rc raft.Config, sm commit.Offline) error { return raft.FoundAlone(rc, sm) }); err != nil {
		return at, err
	}
	if err = errors.Join(syncwriter.Dir(part), ctx.Err()); err != nil {
		return at, err
	}
	if err = errors.Join(forgetFiles(cfg), syncwriter.Dir(cfg.Dir)); err != nil {
		return at, err
	}
	if err = os.Rename(part, filepath.Join(cfg.Dir, restoredDir)); err != nil {
		return at, err
	}
	return at, placeRestored(cfg.Dir)
}

// forgetFiles removes the notes about the state and the log that a home had before. They are wrong about restored
// files: the next start would move those aside, or miss purged bytes in them. The list of skipped records stays: it has
// their digests.
func forgetFiles(cfg Config) error {
	return errors.Join(clearNotes(cfg), removeIfExists(cfg.Dir, RebuildFile, rebuildingFile, erasedFile))
}

// Files tells how far the state and the log of a stopped node reach.
type Files struct {
	State state.Point
	Log   raft.Extent
}

// Check opens the files of a stopped node, and reports the positions of its state and log and whether the log
// continues the state. With deep it also verifies the state's hash.
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

// Members returns the members of the cluster of a stopped node, and the point of its state.
func Members(cfg Config) (members []raft.Member, at state.Point, err error) {
	at, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) (err error) {
		members, err = raft.Members(rc, sm)
		return err
	})
	return members, at, err
}

// Recover makes a stopped node the only member of its cluster (see raft.Recover). It removes the notes that would have
// the next start move the files aside: no other member has them. A scrub finds damage again.
func Recover(cfg Config) (at state.Point, err error) {
	return withFiles(cfg, func(rc raft.Config, sm commit.Offline) error {
		if err := raft.Recover(rc, sm); err != nil {
			return err
		}
		return clearNotes(cfg)
	})
}

// AcceptLoss allows a stopped single node to start without the records that none of its files has. It returns their
// ranges, or "" if nothing is lost.
func AcceptLoss(cfg Config) (lost string, err error) {
	_, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error {
		if sole, err := SoleNode(cfg, sm.State); err != nil || !sole {
			return cmp.Or(err, errors.New("this node is a member of a cluster: start it, and it gets what it lost from the others"))
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
		unreached, err := missingRecords(cfg.Dir, max(log.Last, log.Snapshot))
		if err != nil {
			return err
		}
		lost = cmp.Or(lost, unreached)
		return removeIfExists(cfg.Dir, rebuildingFile) // the next start accepts the state that the log leads to
	})
	return lost, err
}
