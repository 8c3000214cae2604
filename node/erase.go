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

// erasePause is the pause after each quarter of a mebibyte of the state that is rewritten.
const erasePause = time.Millisecond

// erase is the task that removes purged rows from all files: it truncates log and snapshots and rewrites the others.
func (n *Node) erase(ctx context.Context) error {
	e, err := home.ReadErased(n.cfg.Home)
	if err != nil {
		n.log.Error("cannot read the progress of erasing", "err", err)
	}
	failed := false
	for range pause.Ticks(ctx.Done(), eraseEvery) {
		start := time.Now()
		done, err := n.erasePurged(ctx, &e)
		if err != nil && !failed && ctx.Err() == nil { // logged once; every tick tries again
			n.log.Warn("files still hold what was purged", "cut", e.Cut, "err", err)
		}
		if failed = err != nil; !done {
			continue
		}
		n.log.Info("no file of log, snapshots, state and index holds what was purged", "index", e.Cut, "took", time.Since(start))
		if aside := home.SetAsideNames(n.cfg.Home); len(aside) > 0 {
			n.log.Warn("files that were moved aside may hold what was purged: remove them when they are not needed any more",
				"files", aside)
		}
	}
	return ctx.Err()
}

// erasePurged makes as much progress as it can, and records it in the home. done means that no file contains purged
// rows any more.
func (n *Node) erasePurged(ctx context.Context, e *home.Erased) (done bool, err error) {
	var purged oplog.Index
	var by state.Purges
	if err := n.state.Inspect(func(v *state.View) {
		if purged = v.Purged(); purged > min(e.Cut, e.Rewritten) {
			by = v.Purges()
		}
	}); err != nil || purged <= min(e.Cut, e.Rewritten) {
		return false, err
	}
	if purged > e.Cut {
		// It fails during a change of members or another snapshot, or if the disk is full.
		if err := n.raft.PurgeBefore(uint64(purged), by.Erase); err != nil {
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
	if err := errors.Join(n.state.Compact(ctx, dbs, all, erasePause), n.index.Remake(ctx, dbs)); err != nil {
		return false, err
	}
	if err := n.raft.RenewSnapshot(); err != nil { // older snapshots share tables that were rewritten
		return false, fmt.Errorf("snapshots: %w", err)
	}
	e.Rewritten = e.Cut // the next round handles later purges
	return true, e.Write(n.cfg.Home)
}

// leftovers returns the files that the operator may want to remove.
func (n *Node) leftovers() api.Leftovers {
	purged, _ := state.Get(n.state, (*state.View).Purged) // 0 while the state is closing
	e, _ := home.ReadErased(n.cfg.Home)                   // the task erase logs the error
	return api.Leftovers{SetAside: home.SetAsideNames(n.cfg.Home), Lost: lostRecords(n.cfg.Home),
		HoldPurge: purged > e.Rewritten, OldKeys: n.rotation.parts()}
}

// lostRecords returns the records in a home's logs that the cluster lacks.
func lostRecords(dir string) (all []api.LostRecords) {
	for _, l := range home.Lost(dir) {
		all = append(all, api.LostRecords{Log: l.Log, First: l.First, Last: l.Last, Acknowledged: l.Count()})
	}
	return all
}
