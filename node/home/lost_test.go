package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// TestLostRecordsAreNamedAfterACrash checks that a node that crashes between moving its log and moving the note about
// lost records still names the records.
func TestLostRecordsAreNamedAfterACrash(t *testing.T) {
	t.Parallel()
	cfg := soleNodeConfig(t)
	cfg.Peers = true
	fill(t, cfg)
	must(t, NoteLost(cfg, raft.Lost{First: 7, Last: 9}))
	must(t, WriteNote(cfg, DamageFile, errors.New("what the others hold differs")))
	aside, err := raft.Discard(filepath.Join(cfg.Dir, "raft")) // the crash is here
	must(t, err)
	must(t, SetAsideDamaged(cfg, filepath.Join(cfg.Dir, StateDir), state.Options{}))
	if all := Lost(cfg.Dir); len(all) != 1 || all[0].Log != filepath.Base(aside) || all[0].First != 7 || all[0].Last != 9 {
		t.Errorf("%+v, want those of %s", all, aside)
	}
}

// TestLostRecordsOutliveEncryption checks that the records of a log that was moved aside can still be read after the
// home was encrypted.
func TestLostRecordsOutliveEncryption(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	last := uint64(proposeGood(t, cfg))
	log := "raft.corrupt-1"
	must(t, os.CopyFS(filepath.Join(cfg.Dir, log), os.DirFS(filepath.Join(cfg.Dir, raftDir))))
	cfg.Encryption = masterKey(t)
	must(t, Encrypt(t.Context(), cfg))
	entries, err := lostEntries(t.Context(), cfg, LostRecords{Log: log, Lost: raft.Lost{First: last, Last: last}})
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries: %v", len(entries), err)
	}
}
