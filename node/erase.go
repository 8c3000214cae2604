package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// eraseEvery is how often a node looks whether something was purged.
const eraseEvery = time.Second

// erase is the task that cuts log and snapshots behind a purge.
func (n *Node) erase(ctx context.Context) error {
	e, err := home.ReadErased(n.cfg.Home)
	if err != nil {
		n.log.Error("cannot read how far erasing has come", "err", err)
	}
	tick := time.NewTicker(eraseEvery)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var purged oplog.Index
		if err := n.state.Read(func(v *state.View) error { purged = v.Purged(); return nil }); err != nil || purged <= e.Cut {
			continue
		}
		if err := n.raft.CutBehind(uint64(purged)); err != nil {
			if !failed { // a change of members is under way, or another snapshot; the disk may be full
				n.log.Warn("the log still holds what was purged", "index", purged, "err", err)
			}
			failed = true
			continue
		}
		e.Cut, failed = purged, false
		if err := e.Write(n.cfg.Home); err != nil {
			n.log.Error("cannot note how far erasing has come", "err", err)
			continue
		}
		n.log.Info("log and snapshots are without what was purged; free pages and the index hold it until the next start", "index", purged)
	}
}

// leftovers looks for what the operator may want to remove.
func (n *Node) leftovers() api.Leftovers {
	var purged oplog.Index
	_ = n.state.Read(func(v *state.View) error { purged = v.Purged(); return nil }) // a closing state says 0
	e, _ := home.ReadErased(n.cfg.Home)                                             // the task that writes it logs what is wrong with it
	return api.Leftovers{SetAside: home.SetAsides(n.cfg.Home), HoldPurge: purged > e.Rewritten, OldKeys: n.rotation.parts()}
}
