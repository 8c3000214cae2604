package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// eraseEvery sets how often a node checks whether something was purged.
const eraseEvery = time.Second

// eraseRest is between quarters of a mebibyte of the state that are written again.
const eraseRest = time.Millisecond

// erase is the task that cuts away and writes again what holds purged rows.
func (n *Node) erase(ctx context.Context) error {
	e, err := home.ReadErased(n.cfg.Home)
	if err != nil {
		n.log.Error("cannot read the progress of erasing", "err", err)
	}
	failed := false
	for range pause.Ticks(ctx.Done(), eraseEvery) {
		start := time.Now()
		done, err := n.erasePurged(ctx, &e)
		if err != nil && !failed && ctx.Err() == nil { // it is tried at every tick
			n.log.Warn("files still hold what was purged", "cut", e.Cut, "err", err)
		}
		if failed = err != nil; !done {
			continue
		}
		n.log.Info("no file of log, snapshots, state and index holds what was purged", "index", e.Cut, "took", time.Since(start))
		if aside := home.SetAsides(n.cfg.Home); len(aside) > 0 {
			n.log.Warn("files that were moved aside may hold what was purged: remove them when they are not needed any more",
				"files", aside)
		}
	}
	return ctx.Err()
}

// erasePurged goes as far as it can, and notes in the home how far that is; done is true when no file holds what was
// purged any more.
func (n *Node) erasePurged(ctx context.Context, e *home.Erased) (done bool, err error) {
	var purged oplog.Index
	var by state.Purges
	if err := n.state.Look(func(v *state.View) {
		if purged = v.Purged(); purged > min(e.Cut, e.Rewritten) {
			by = v.Purges()
		}
	}); err != nil || purged <= min(e.Cut, e.Rewritten) {
		return false, err
	}
	if purged > e.Cut {
		// a change of members is under way, or another snapshot; the disk may be full
		if err := n.raft.CutBehind(uint64(purged), by.Erase); err != nil {
			return false, fmt.Errorf("log: %w", err)
		}
		e.Cut = purged
		if err := e.Write(n.cfg.Home); err != nil {
			return false, err
		}
	}
	if n.commit.Indexed() < e.Cut {
		return false, errors.New("the index has not reached this record yet")
	}
	dbs, all := by.Since(e.Rewritten)
	if err := errors.Join(n.state.Compact(ctx, dbs, all, eraseRest), n.index.Remake(ctx, dbs)); err != nil {
		return false, err
	}
	if err := n.raft.RenewSnapshot(); err != nil { // the others share tables that were rewritten
		return false, fmt.Errorf("snapshots: %w", err)
	}
	e.Rewritten = e.Cut // one that came since is the next round's
	return true, e.Write(n.cfg.Home)
}

// leftovers looks for what the operator may want to remove.
func (n *Node) leftovers() api.Leftovers {
	purged, _ := state.Get(n.state, (*state.View).Purged) // a closing state says 0
	e, _ := home.ReadErased(n.cfg.Home)                   // the task that writes it logs what is wrong with it
	return api.Leftovers{SetAside: home.SetAsides(n.cfg.Home), Lost: lostRecords(n.cfg.Home),
		HoldPurge: purged > e.Rewritten, OldKeys: n.rotation.parts()}
}

// lostRecords are the records that a home keeps and the cluster lacks.
func lostRecords(dir string) (all []api.LostRecords) {
	for _, l := range home.Lost(dir) {
		all = append(all, api.LostRecords{Log: l.Log, First: l.First, Last: l.Last, Acknowledged: l.Count()})
	}
	return all
}
