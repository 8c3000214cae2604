package operate

import (
	"path/filepath"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/damage"
)

// damageReport returns the files of the home in which damage was found since the start. A damaged log or vote is not
// among them: it stops the node, and the next start moves it aside (Leftovers).
func (cl *Cluster) damageReport() []api.Damage {
	found := cl.damagedState()
	found = append(found, cl.raft.Damaged().List()...)
	found = append(found, cl.cfg.IndexDamage()...)
	singleNode := len(cl.raft.Status().Members) <= 1
	reports := []api.Damage{}
	for _, f := range found {
		if short, err := filepath.Rel(cl.cfg.Home, f.Path); err == nil {
			f.Path = filepath.ToSlash(short)
		}
		reports = append(reports, api.Damage{Kind: f.Kind, Database: f.Database, File: f.Path, Times: f.Times, Healed: f.Healed,
			Heals: healingText(f, singleNode)})
	}
	return reports
}

// damagedState returns the state's tables with damaged blocks. If there are none, but verifying the rows failed, it
// returns the state's directory.
func (cl *Cluster) damagedState() []damage.File {
	found := cl.cfg.State.StoreStats().DamagedFiles
	if times := cl.DamageFound.Load(); len(found) == 0 && times > 0 && !cl.scrubClean.Load() {
		found = append(found, damage.File{Kind: damage.State, Path: filepath.Join(cl.cfg.Home, "state"), Times: int64(times)})
	}
	return found
}

// healingText describes how a damaged file heals or was healed, and what the operator should do.
func healingText(f damage.File, singleNode bool) string {
	switch {
	case f.Kind == damage.State && singleNode:
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
