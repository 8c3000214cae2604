package engine

import (
	"path/filepath"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/damage"
)

// damaged are the files of the home in which damage was found since the node started. A log or vote that is damaged
// stops the node, and is moved aside by its next start (Leftovers).
func (s *Service) damaged() []api.Damage {
	found := s.damagedState()
	found = append(found, s.raft.Damaged().List()...)
	found = append(found, s.index.Damaged().List()...)
	alone := len(s.raft.Status().Members) <= 1
	return each(found, func(f damage.File) api.Damage {
		if short, err := filepath.Rel(s.cfg.Home.Dir, f.Path); err == nil {
			f.Path = filepath.ToSlash(short)
		}
		return api.Damage{Kind: f.Kind, Database: f.Database, File: f.Path, Times: f.Times, Healed: f.Healed, Heals: heals(f, alone)}
	})
}

// damagedState are the state's tables that have damaged blocks; its directory when there are none, and verifying it
// failed for what its rows say.
func (s *Service) damagedState() []damage.File {
	found := s.state.StoreStats().DamagedFiles
	if times := s.seen.damaged.Load(); len(found) == 0 && times > 0 && !s.seen.scrubClean.Load() {
		found = append(found, damage.File{Kind: damage.State, Path: filepath.Join(s.cfg.Home.Dir, "state"), Times: int64(times)})
	}
	return found
}

// heals says what heals a damaged file, or has healed it, and what its node's operator does about it.
func heals(f damage.File, alone bool) string {
	switch {
	case f.Kind == damage.State && alone:
		return "nothing is returned from it; restart the node: it moves the state aside and rebuilds it from a checkpoint and its log (runbook damaged-state.md)"
	case f.Kind == damage.State:
		return "nothing is returned from it; the node stops as soon as enough other voters are healthy, and gets a new state from them when it starts again: make sure that it is restarted (runbook damaged-state.md)"
	case f.Kind == damage.Log:
		return "the cluster does not need these records any more; pulls, subscriptions and `cairn log tail` begin behind them: check the disk (runbook damaged-state.md)"
	case f.Kind == damage.Snapshot:
		return "it was moved aside, and another is made from the state: check the disk (runbook damaged-state.md)"
	case f.Healed:
		return "what it held was read from the state instead: check the disk (runbook damaged-state.md)"
	}
	return "the index is being rebuilt from the state, and until then an answer may lack a memory: check the disk (runbook damaged-state.md)"
}
