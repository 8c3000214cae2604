package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// StateDir is the name of the directory with the state, raftDir of the one with the log.
const (
	StateDir = "state"
	raftDir  = "raft"
)

// A restore writes state and log to restoringDir and renames it to restoredDir once both are complete. The rename
// commits the restore. Both move to their places afterwards, or at the next start.
const (
	restoringDir = "restoring"
	restoredDir  = "restored"
)

// Usable returns an error that tells the operator what to do if no node may start in the home: its state is a file of
// a version before the first release, or a restore into it is incomplete. It moves the files of a complete restore to
// their places.
func Usable(home string) error {
	old := filepath.Join(home, "state.db")
	if _, err := os.Lstat(old); err == nil {
		return fmt.Errorf("home %s: %w", home,
			oplog.Errorf(oplog.TooOld,
				"%s was written by a version before 1.0: run `cairn export` with that version, and `cairn import` with this one into an empty home", old))
	}
	if part := filepath.Join(home, restoringDir); exists(part) {
		return fmt.Errorf("home %s: %w", home,
			oplog.Errorf(oplog.Conflict,
				"a restore into it did not end: run the same `cairn restore` again, which starts again; or remove %s, and the home is empty", part))
	}
	return placeRestored(home)
}

// placeRestored moves the files of a complete restore to their places. It continues an interrupted move.
func placeRestored(home string) error {
	restored := filepath.Join(home, restoredDir)
	if !exists(restored) {
		return nil
	}
	for _, name := range []string{raftDir, StateDir} {
		if err := os.Rename(filepath.Join(restored, name), filepath.Join(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restored: %w", err)
		}
	}
	if err := syncwriter.Dir(home); err != nil {
		return err
	}
	return os.Remove(restored)
}

// exists reports whether a path exists. It counts a path that cannot be examined as existing.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
