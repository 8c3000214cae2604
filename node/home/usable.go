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

// StateDir names the folder of a home that holds the state, raftDir the one that holds the log.
const (
	StateDir = "state"
	raftDir  = "raft"
)

// A restore makes state and log in a folder of the home, which gets another name once both are whole: that decides.
// They move to their places afterwards, or at the next start.
const (
	restoringDir = "restoring"
	restoredDir  = "restored"
)

// Usable says what to do with a home that no node may start in: one whose state is a file, as versions before the
// first release kept it, or one that a restore has begun to fill. It puts what a restore has made whole in its place.
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
	return place(home)
}

// place moves what a restore has made whole to where it belongs. One that was cut short goes on.
func place(home string) error {
	whole := filepath.Join(home, restoredDir)
	if !exists(whole) {
		return nil
	}
	for _, name := range []string{raftDir, StateDir} {
		if err := os.Rename(filepath.Join(whole, name), filepath.Join(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restored: %w", err)
		}
	}
	if err := syncwriter.Dir(home); err != nil {
		return err
	}
	return os.Remove(whole)
}

// exists reports whether a path exists. It counts a path that cannot be examined as existing.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
