package node

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// eraseEvery is how often a node looks whether something was purged.
const eraseEvery = time.Second

// eraseRest is between quarters of a mebibyte of the state that are written anew.
const eraseRest = time.Millisecond

// erase is the task that does so.
func (n *Node) erase(ctx context.Context) error {
	e, err := home.ReadErased(n.cfg.Home)
	if err != nil {
		n.log.Error("cannot read the progress of erasing", "err", err)
	}
	all := e.Rewritten < e.Cut // a purge before the start: which databases it was of is not known any more
	tick := time.NewTicker(eraseEvery)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var purged oplog.Index
		if err := n.state.Read(func(v *state.View) error { purged = v.Purged(); return nil }); err != nil || purged <= min(e.Cut, e.Rewritten) {
			continue
		}
		if purged > e.Cut {
			if err := n.raft.CutBehind(uint64(purged)); err != nil {
				if !failed { // a change of members is under way, or another snapshot; the disk may be full
					n.log.Warn("the log still holds what was purged", "index", purged, "err", err)
				}
				failed = true
				continue
			}
			e.Cut = purged
			if err := e.Write(n.cfg.Home); err != nil {
				n.log.Error("cannot save the progress of erasing", "err", err)
				continue
			}
		}
		start := time.Now()
		if err := n.rewriteErased(ctx, e.Cut, all); err != nil {
			if !failed && ctx.Err() == nil {
				n.log.Warn("files still hold what was purged", "index", e.Cut, "err", err)
			}
			failed = true
			continue
		}
		e.Rewritten, all, failed = e.Cut, false, false
		if err := e.Write(n.cfg.Home); err != nil {
			n.log.Error("cannot save the progress of erasing", "err", err)
		}
		n.log.Info("no file of log, snapshots, state and index holds what was purged", "index", e.Cut, "took", time.Since(start))
		if aside := home.SetAsides(n.cfg.Home); len(aside) > 0 {
			n.log.Warn("files that were moved aside may hold what was purged: remove them when they are not needed any more", "files", aside)
		}
	}
}

// rewriteErased writes the files of state and index anew, without what was purged up to a record.
func (n *Node) rewriteErased(ctx context.Context, upTo oplog.Index, all bool) error {
	if n.commit.Indexed() < upTo {
		return errors.New("the index has not reached this record yet")
	}
	return errors.Join(n.state.Compact(ctx, eraseRest), n.index.Remake(ctx, all))
}

// leftovers looks for what the operator may want to remove.
func (n *Node) leftovers() api.Leftovers {
	var purged oplog.Index
	_ = n.state.Read(func(v *state.View) error { purged = v.Purged(); return nil }) // a closing state says 0
	e, _ := home.ReadErased(n.cfg.Home)                                             // the task that writes it logs what is wrong with it
	return api.Leftovers{SetAside: home.SetAsides(n.cfg.Home), HoldPurge: purged > e.Rewritten, OldKeys: n.rotation.parts()}
}
