package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/recovery"
)

// Notes in the home: what a run has found, for the next start. They are files, because a process that stops may not
// come to more.
const (
	DamageFile     = "damaged"    // the state is damaged: the next start moves state and log aside
	SuspectFile    = "suspect"    // a read of the state failed: the next start verifies all rows first
	RebuildFile    = "rebuild"    // the state is damaged: the next start rebuilds it from the log, to the index that this file names
	rebuildingFile = "rebuilding" // the state was moved aside, and it is not known yet whether the log reaches that index
)

// Damage describes damage that a node has found, and what its next start does about it.
type Damage struct{ Found, Next string }

// Damaged reads the notes about damage that a node has left for its next start.
func Damaged(home string) (all []Damage) {
	for _, w := range []struct{ name, next string }{
		{DamageFile, "it moves state and log aside, and gets both from the other members"},
		{SuspectFile, "it verifies the state, and rebuilds it if it is damaged"},
		{RebuildFile, "it moves the state aside and rebuilds it from a checkpoint and the log; when the checkpoints share the damage, restore a backup"},
		{rebuildingFile, "it continues to rebuild the state; if snapshot and log do not reach the index that it had, restore a backup"},
	} {
		if text, _, err := readNote(filepath.Join(home, w.name)); err == nil && text != nil {
			all = append(all, Damage{strings.TrimSpace(string(text)), w.next})
		}
	}
	return all
}

// DamageAt is the text of a RebuildFile: the index that the rebuilt state must reach, and why it is rebuilt.
func DamageAt(s *state.State, why error) error {
	at, _ := s.Applied()
	return fmt.Errorf("at index %d: %w", at, why)
}

// LeaveWord writes a note for the next start.
func LeaveWord(cfg Config, name string, why error) error {
	return syncwriter.Replace(filepath.Join(cfg.Dir, name), syncwriter.Summed(fmt.Appendln(nil, why)), 0o600)
}

// Replace moves aside what an earlier run found damaged. A member's log goes too: snapshots next to it may have the
// damage in them, and a member without its log asks the others for everything. The log of a node that is alone is all
// it has.
func Replace(cfg Config, dir string, opts state.Options) error {
	bad, err := mustReplace(cfg, dir, opts)
	if err != nil {
		return err
	}
	if !bad {
		return restart(cfg, dir, opts)
	}
	log, err := raft.Discard(filepath.Join(cfg.Dir, "raft"))
	if err != nil {
		return err
	}
	if err := keepLost(cfg, log); err != nil {
		return err
	}
	aside, err := SetAside(dir)
	if err != nil {
		return err
	}
	cfg.Logger.Error("state damaged, moved aside with its log", "path", dir, "aside", aside, "log", log)
	return clearNotes(cfg)
}

// SetAside moves a state aside, if there is one, and returns its new path. Its checkpoints stay in place, because
// snapshots of the log refer to them.
func SetAside(dir string) (aside string, err error) {
	aside = recovery.AsideName(dir)
	if _, err := os.Stat(filepath.Join(dir, state.CheckpointDir)); errors.Is(err, fs.ErrNotExist) {
		return aside, errors.Join(recovery.SetAside(dir, aside), syncwriter.Dir(filepath.Dir(dir)))
	}
	entries, err := os.ReadDir(dir)
	if err == nil {
		err = os.Mkdir(aside, 0o700)
	}
	if err != nil {
		return aside, err
	}
	for _, e := range entries {
		if e.Name() != state.CheckpointDir {
			err = errors.Join(err, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(aside, e.Name())))
		}
	}
	return aside, errors.Join(err, syncwriter.Dir(aside), syncwriter.Dir(dir), syncwriter.Dir(filepath.Dir(dir)))
}

// restart moves the state of a node that is alone aside when it is to be built again. A checkpoint shares tables with
// the state: when the damage is in those, there is nothing to build it from, and it stays as long as it can be
// opened.
func restart(cfg Config, dir string, opts state.Options) error {
	word := filepath.Join(cfg.Dir, RebuildFile)
	if _, err := os.Stat(word); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !state.Rebuildable(dir, opts) && opens(dir, opts) {
		cfg.Logger.Error("state damaged, and its checkpoints with it: it stays, and damaged rows are errors; restore a backup", "path", dir)
		return errors.Join(clearNotes(cfg), removeIfThere(cfg.Dir, RebuildFile))
	}
	aside, err := SetAside(dir)
	if err != nil {
		return err
	}
	cfg.Logger.Error("state damaged, moved aside; it is rebuilt from the log", "path", dir, "aside", aside)
	return errors.Join(clearNotes(cfg), os.Rename(word, filepath.Join(cfg.Dir, rebuildingFile)))
}

// opens reports whether a state can be opened, even if it is damaged.
func opens(dir string, opts state.Options) bool {
	s, err := state.Open(dir, opts)
	return err == nil && s.Close() == nil
}

// Rebuilt returns an error if the log does not reach the index of the state that was set aside.
func Rebuilt(cfg Config, last uint64) error {
	lost, err := unreached(cfg.Dir, last)
	if err != nil {
		return err
	}
	if lost != "" {
		cfg.Logger.Error("records lost", "records", lost)
		return fmt.Errorf("the state was damaged and moved aside, and snapshot and log do not reach the index that it had: %w: %s",
			ErrLoss, lost)
	}
	return removeIfThere(cfg.Dir, rebuildingFile)
}

// unreached names what a log that ends at an index lacks of a state that was moved aside to be built again; empty for
// nothing. Of a note in which something changed it is not known.
func unreached(home string, last uint64) (lost string, err error) {
	word := filepath.Join(home, rebuildingFile)
	text, whole, err := readNote(word)
	if text == nil {
		return "", err
	}
	var was uint64
	if _, err := fmt.Sscanf(string(text), "at index %d:", &was); err != nil || !whole {
		return fmt.Sprintf("behind %d, perhaps: %s differs from what was written", last, word), nil
	}
	if last >= was {
		return "", nil
	}
	return recovery.Span{First: last + 1, Last: was}.String(), nil
}

// ErrLoss reports that acknowledged records are lost. The node does not start until its operator has accepted that.
var ErrLoss = errors.New("records that were acknowledged are lost")

// LossOf reports whether a node does not start because acknowledged records are lost.
func LossOf(err error) bool {
	_, lost := errors.AsType[*recovery.LossError](err)
	return lost || errors.Is(err, ErrLoss)
}

// mustReplace reports whether state and log are moved aside: a scrub found damage, or a read failed and a
// verification finds why. A node that is alone keeps its log, which is all it has, and rebuilds the state from it.
func mustReplace(cfg Config, dir string, opts state.Options) (bad bool, err error) {
	found, whole, err := readNote(filepath.Join(cfg.Dir, DamageFile))
	if err != nil {
		return false, err
	}
	if found != nil && whole {
		return true, nil
	}
	// a note that is not what a run wrote is a suspicion
	if _, err := os.Stat(filepath.Join(cfg.Dir, SuspectFile)); err != nil && found == nil {
		return false, nil
	}
	s, err := state.Open(dir, opts)
	if err != nil {
		return false, nil // the next opening finds out
	}
	err = s.Verify()
	word := DamageAt(s, err)
	err = errors.Join(err, s.Close())
	switch {
	case errors.Is(err, state.ErrState) && cfg.Peers:
		return true, nil
	case errors.Is(err, state.ErrState):
		return false, LeaveWord(cfg, RebuildFile, word)
	}
	cfg.Logger.Warn("the state could not be read, and is not damaged", "err", err)
	return false, clearNotes(cfg)
}

func clearNotes(cfg Config) error { return removeIfThere(cfg.Dir, DamageFile, SuspectFile, lostFile) }

// SetAsides returns the names of the states, logs and snapshots in a home that were moved aside.
func SetAsides(home string) (names []string) {
	for _, pattern := range []string{"*.corrupt-*", "raft/*.corrupt-*"} {
		paths, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are good
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}
