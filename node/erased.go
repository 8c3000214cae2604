package node

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// A purge erases rows. What held them outlives it twice over: the log and the snapshots, which a member that joins would be sent, and
// the free pages of files and the parts of the index that were not merged since. The first a node cuts away as soon as it
// has applied the purge; the second it leaves behind by writing its files anew when it starts the next time.

// erasedFile notes, in the home, how far a node has come with that.
const erasedFile = "erased"

type erased struct {
	Cut       oplog.Index `json:"cut"`       // neither log nor snapshots hold what was erased up to here
	Rewritten oplog.Index `json:"rewritten"` // nor does any page
}

func readErased(home string) (e erased, err error) {
	raw, err := os.ReadFile(filepath.Join(home, erasedFile))
	if errors.Is(err, os.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	return e, err
}

func (e erased) write(home string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(home, erasedFile), b, 0o600)
}

// eraseWork is where the new files of a home are made, as those of a new key are.
const eraseWork = ".erase"

// rewriteErased writes the files of a home anew, without the pages that held what was erased, before the node opens them. A node always
// starts: where this fails, the files stay as they are, and the next start tries again.
func (n *Node) rewriteErased() {
	home := n.cfg.Home
	e, err := readErased(home)
	work := filepath.Join(home, eraseWork)
	if _, whole := os.Stat(filepath.Join(work, rekeyDone)); whole == nil { // cut short: some of it may be in place
		err = errors.Join(err, placeFiles(home, work), os.RemoveAll(work))
	}
	if err == nil && e.Rewritten < e.Cut {
		start := time.Now()
		err = convert(n.cfg, work, func() (from, to *seal.Ring, err error) { return n.keys, n.keys, nil })
		if err == nil {
			err = errors.Join(placeFiles(home, work), os.RemoveAll(work))
		}
		if err == nil {
			e.Rewritten = e.Cut
			err = e.write(home)
			n.log.Info("files written anew without what was purged", "upto", e.Cut, "took", time.Since(start))
		}
	}
	if err != nil {
		n.log.Error("files that hold what was purged are not written anew yet", "err", err)
		if _, whole := os.Stat(filepath.Join(work, rekeyDone)); whole != nil {
			_ = os.RemoveAll(work) // half of a copy is of no use
		}
	}
	for _, aside := range []string{"*.corrupt-*", filepath.Join("raft", "*.corrupt-*")} {
		if left, _ := filepath.Glob(filepath.Join(home, aside)); len(left) > 0 && e.Cut > 0 {
			n.log.Warn("files that were moved aside may hold what was purged: remove them when they are of no use", "files", left)
		}
	}
}

// eraseEvery is how often a node looks whether something was purged.
const eraseEvery = time.Second

// erase is the task that cuts log and snapshots behind a purge.
func (n *Node) erase(ctx context.Context) error {
	e, err := readErased(n.cfg.Home)
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
		if err := e.write(n.cfg.Home); err != nil {
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
	e, _ := readErased(n.cfg.Home)                                                  // the task that writes it logs what is wrong with it
	return api.Leftovers{SetAside: setAsides(n.cfg.Home), HoldPurge: purged > e.Rewritten, OldKeys: n.rotation.parts()}
}
