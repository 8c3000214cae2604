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

// Files in the home that say what the next start is to think of the state.
const (
	DamageFile     = "damaged"    // it holds something else than was written, and is to be moved aside with its log
	SuspectFile    = "suspect"    // something in it could not be read, and it is to be counted first
	RebuildFile    = "rebuild"    // it is to be moved aside and built anew from the log, to the index that this file names
	rebuildingFile = "rebuilding" // it was moved aside, and the log has not been asked whether it leads there
)

// Damage is what a node has found, and what its next start does about it.
type Damage struct{ Found, Next string }

// Damaged reads what a node has left in its home for its next start.
func Damaged(home string) (all []Damage) {
	for _, w := range []struct{ name, next string }{
		{DamageFile, "it moves state and log aside, and gets both from the other members"},
		{SuspectFile, "it verifies the state, and rebuilds it if it is damaged"},
		{RebuildFile, "it moves the state aside, and rebuilds it from its snapshot and log"},
		{rebuildingFile, "it continues to rebuild the state; if snapshot and log do not reach the index that it had, restore a backup"},
	} {
		if raw, err := os.ReadFile(filepath.Join(home, w.name)); err == nil {
			all = append(all, Damage{strings.TrimSpace(string(raw)), w.next})
		}
	}
	return all
}

// PlaceOf is what a RebuildFile holds.
func PlaceOf(s *state.State, why error) error {
	at, _ := s.Applied()
	return fmt.Errorf("at index %d: %w", at, why)
}

// LeaveWord tells the next start what was found.
func LeaveWord(cfg Config, name string, why error) error {
	return writeFile(filepath.Join(cfg.Dir, name), fmt.Appendln(nil, why), 0o600)
}

// Replace moves aside what an earlier run found damaged. A member's log goes too: snapshots beside it may have the damage in
// them, and a member without its log asks the others for everything. The log of a node that is alone is all it has.
func Replace(cfg Config, state string, opts state.Options) error {
	bad, err := condemned(cfg, state, opts)
	if err != nil {
		return err
	}
	if !bad {
		return restart(cfg, state)
	}
	log, err := raft.Discard(filepath.Join(cfg.Dir, "raft"))
	if err != nil {
		return err
	}
	aside, err := SetAside(state)
	if err != nil {
		return err
	}
	cfg.Logger.Error("state damaged, moved aside with its log", "path", state, "aside", aside, "log", log)
	return forgive(cfg)
}

// SetAside moves a state aside, if there is one, and returns its new place.
func SetAside(state string) (aside string, err error) {
	aside = recovery.AsideName(state)
	return aside, errors.Join(recovery.SetAside(state, aside), syncwriter.Dir(filepath.Dir(state)))
}

// restart moves the state of a node that is alone aside when it is to be built anew.
func restart(cfg Config, state string) error {
	word := filepath.Join(cfg.Dir, RebuildFile)
	if _, err := os.Stat(word); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside, err := SetAside(state)
	if err != nil {
		return err
	}
	cfg.Logger.Error("state damaged, moved aside; it is rebuilt from the log", "path", state, "aside", aside)
	return errors.Join(forgive(cfg), os.Rename(word, filepath.Join(cfg.Dir, rebuildingFile)))
}

// Rebuilt refuses to go on when the log does not lead to where the state was.
func Rebuilt(cfg Config, last uint64) error {
	lost, err := unreached(cfg.Dir, last)
	if err != nil {
		return err
	}
	if lost != "" {
		cfg.Logger.Error("records lost", "records", lost)
		return fmt.Errorf("the state was damaged and moved aside, and snapshot and log do not reach the index that it had: %w: %s", ErrLoss, lost)
	}
	return removeIfThere(cfg.Dir, rebuildingFile)
}

// unreached names what a log that ends at an index lacks of a state that was moved aside to be built anew; empty for nothing.
func unreached(home string, last uint64) (lost string, err error) {
	word := filepath.Join(home, rebuildingFile)
	raw, err := readIfThere(word)
	if raw == nil {
		return "", err
	}
	var was uint64
	if _, err := fmt.Sscanf(string(raw), "at index %d:", &was); err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	if last >= was {
		return "", nil
	}
	return recovery.Span{First: last + 1, Last: was}.String(), nil
}

// ErrLoss says that records are lost that this node acknowledged: it does not start before its operator has accepted that.
var ErrLoss = errors.New("records that were acknowledged are lost")

// LossOf says whether a node does not start because of what it has lost.
func LossOf(err error) bool {
	var lost *recovery.LossError
	return errors.As(err, &lost) || errors.Is(err, ErrLoss)
}

// condemned says whether the state is to be moved aside with its log: a scrub said so, or it could not be read where it was
// needed, by a node that has others, and counting it says why. One that has none leaves its log.
func condemned(cfg Config, dir string, opts state.Options) (bad bool, err error) {
	if _, err := os.Stat(filepath.Join(cfg.Dir, DamageFile)); err == nil {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, SuspectFile)); err != nil {
		return false, nil
	}
	s, err := state.Open(dir, opts)
	if err != nil {
		return false, nil // the next opening finds out
	}
	err = s.Verify()
	word := PlaceOf(s, err)
	err = errors.Join(err, s.Close())
	switch {
	case errors.Is(err, state.ErrState) && cfg.Peers:
		return true, nil
	case errors.Is(err, state.ErrState):
		return false, LeaveWord(cfg, RebuildFile, word)
	}
	cfg.Logger.Warn("the state could not be read, and is not damaged", "err", err)
	return false, forgive(cfg)
}

func forgive(cfg Config) error { return removeIfThere(cfg.Dir, DamageFile, SuspectFile) }

// SetAsides are the states and logs in a home that were moved aside, by name.
func SetAsides(home string) (names []string) {
	for _, pattern := range []string{StateDir + ".corrupt-*", "raft.corrupt-*", "raft/log.corrupt-*"} {
		paths, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are good
		for _, path := range paths {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}
