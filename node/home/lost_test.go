package home

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// TestLostRecordsAreNamedAfterACrash: a node that dies between the moves of its log and of the note about what the
// cluster lacks of it names the records all the same.
func TestLostRecordsAreNamedAfterACrash(t *testing.T) {
	t.Parallel()
	cfg := alone(t)
	cfg.Peers = true
	fill(t, cfg)
	must(t, NoteLost(cfg, raft.Lost{First: 7, Last: 9}))
	must(t, LeaveWord(cfg, DamageFile, errors.New("what the others hold differs")))
	aside, err := raft.Discard(filepath.Join(cfg.Dir, "raft")) // and here it dies
	must(t, err)
	must(t, Replace(cfg, filepath.Join(cfg.Dir, StateDir), state.Options{}))
	if all := Lost(cfg.Dir); len(all) != 1 || all[0].Log != filepath.Base(aside) || all[0].First != 7 || all[0].Last != 9 {
		t.Errorf("%+v, want those of %s", all, aside)
	}
}
