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

// The notes in a home, in which a run records damage for the next start. They are files, because a process that stops
// may have no time for more.
const (
	DamageFile     = "damaged"    // damage of the state: the next start moves state and log aside
	SuspectFile    = "suspect"    // a failed read of the state: the next start verifies all rows first
	RebuildFile    = "rebuild"    // damage of the state: the next start rebuilds it from the log, up to the index in this file
	rebuildingFile = "rebuilding" // the state was moved aside; it is not yet known whether the log reaches that index
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

// DamageNote returns the text of a RebuildFile: the index that the rebuilt state must reach, and the reason.
func DamageNote(s *state.State, why error) error {
	at, _ := s.Applied()
	return fmt.Errorf("at index %d: %w", at, why)
}

// WriteNote writes a note for the next start.
func WriteNote(cfg Config, name string, why error) error {
	return syncwriter.Replace(filepath.Join(cfg.Dir, name), syncwriter.AppendSum(fmt.Appendln(nil, why)), 0o600)
}

// SetAsideDamaged moves aside the state that an earlier run found damaged. The log of a member goes too: its
// snapshots may share the damage, and a member without a log gets everything from the others. A single node keeps its
// log, because no other copy exists.
func SetAsideDamaged(cfg Config, dir string, opts state.Options) error {
	bad, err := mustSetAside(cfg, dir, opts)
	if err != nil {
		return err
	}
	if !bad {
		return setAsideForRebuild(cfg, dir, opts)
	}
	log, err := raft.Discard(filepath.Join(cfg.Dir, "raft"))
	if err != nil {
		return err
	}
	if err := moveLostNote(cfg, log); err != nil {
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

// setAsideForRebuild moves the state of a single node aside if a note requests a rebuild. A checkpoint shares tables
// with the state. If those are damaged, nothing is left to rebuild from, so the state stays as long as it can be
// opened.
func setAsideForRebuild(cfg Config, dir string, opts state.Options) error {
	note := filepath.Join(cfg.Dir, RebuildFile)
	if _, err := os.Stat(note); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !state.Rebuildable(dir, opts) && canOpen(dir, opts) {
		cfg.Logger.Error("state damaged, and its checkpoints with it: it stays, and damaged rows are errors; restore a backup", "path", dir)
		return errors.Join(clearNotes(cfg), removeIfExists(cfg.Dir, RebuildFile))
	}
	aside, err := SetAside(dir)
	if err != nil {
		return err
	}
	cfg.Logger.Error("state damaged, moved aside; it is rebuilt from the log", "path", dir, "aside", aside)
	return errors.Join(clearNotes(cfg), os.Rename(note, filepath.Join(cfg.Dir, rebuildingFile)))
}

// canOpen reports whether a state can be opened, even if it is damaged.
func canOpen(dir string, opts state.Options) bool {
	s, err := state.Open(dir, opts)
	return err == nil && s.Close() == nil
}

// CheckRebuilt returns an error if the log does not reach the index of the state that was moved aside.
func CheckRebuilt(cfg Config, last uint64) error {
	lost, err := missingRecords(cfg.Dir, last)
	if err != nil {
		return err
	}
	if lost != "" {
		cfg.Logger.Error("records lost", "records", lost)
		return fmt.Errorf("the state was damaged and moved aside, and snapshot and log do not reach the index that it had: %w: %s",
			ErrLoss, lost)
	}
	return removeIfExists(cfg.Dir, rebuildingFile)
}

// missingRecords returns the range of records that a log ending at last lacks of the state that was moved aside for a
// rebuild, "" if none. If the note itself is damaged, the range is unknown.
func missingRecords(home string, last uint64) (lost string, err error) {
	note := filepath.Join(home, rebuildingFile)
	text, intact, err := readNote(note)
	if text == nil {
		return "", err
	}
	var was uint64
	if _, err := fmt.Sscanf(string(text), "at index %d:", &was); err != nil || !intact {
		return fmt.Sprintf("behind %d, perhaps: %s differs from what was written", last, note), nil
	}
	if last >= was {
		return "", nil
	}
	return recovery.Span{First: last + 1, Last: was}.String(), nil
}

// ErrLoss reports that acknowledged records are lost. The node does not start until its operator has accepted that.
var ErrLoss = errors.New("records that were acknowledged are lost")

// IsLoss reports whether a node does not start because acknowledged records are lost.
func IsLoss(err error) bool {
	_, lost := errors.AsType[*recovery.LossError](err)
	return lost || errors.Is(err, ErrLoss)
}

// mustSetAside reports whether state and log must be moved aside: a scrub found damage, or a read failed and a
// verification confirms damage. A single node keeps its log and gets a note to rebuild the state from it instead.
func mustSetAside(cfg Config, dir string, opts state.Options) (bad bool, err error) {
	found, intact, err := readNote(filepath.Join(cfg.Dir, DamageFile))
	if err != nil {
		return false, err
	}
	if found != nil && intact {
		return true, nil
	}
	// a note with a wrong checksum counts as a suspicion
	if _, err := os.Stat(filepath.Join(cfg.Dir, SuspectFile)); err != nil && found == nil {
		return false, nil
	}
	s, err := state.Open(dir, opts)
	if err != nil {
		return false, nil // the caller opens the state again and handles the error
	}
	err = s.Verify()
	note := DamageNote(s, err)
	err = errors.Join(err, s.Close())
	switch {
	case errors.Is(err, state.ErrState) && cfg.Peers:
		return true, nil
	case errors.Is(err, state.ErrState):
		return false, WriteNote(cfg, RebuildFile, note)
	}
	cfg.Logger.Warn("the state could not be read, and is not damaged", "err", err)
	return false, clearNotes(cfg)
}

func clearNotes(cfg Config) error { return removeIfExists(cfg.Dir, DamageFile, SuspectFile, lostFile) }

// SetAsideNames returns the names of the states, logs and snapshots that were moved aside in a home.
func SetAsideNames(home string) (names []string) {
	for _, pattern := range []string{"*.corrupt-*", "raft/*.corrupt-*"} {
		paths, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are valid
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}
