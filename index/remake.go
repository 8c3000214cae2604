package index

import (
	"context"
	"errors"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Remake rebuilds the files of databases from the state: of the given ones, from which something was purged, and of
// those in which Verify found damage. Afterwards no file holds what was erased before it began. Meanwhile the old
// files are searched and follow the log.
func (x *Index) Remake(ctx context.Context, purged []oplog.DB) error {
	x.remakes.Lock()
	defer x.remakes.Unlock()
	x.mu.Lock()
	var ids []oplog.DB
	for id, d := range x.dbs {
		if !d.memory && (x.stale[id] || slices.Contains(purged, id)) {
			ids = append(ids, id)
		}
	}
	for id := range x.parked {
		if x.stale[id] || slices.Contains(purged, id) {
			ids = append(ids, id)
		}
	}
	x.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		if err := x.remake(ctx, id); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	x.following.Lock()
	defer x.following.Unlock()
	if !x.checkpoints.partial && !x.checkpoints.busy() {
		x.startCheckpoint() // the files that the last one names are gone
	}
	return nil
}

func (x *Index) remake(ctx context.Context, id oplog.DB) error {
	turn := x.turn(id)
	turn.Lock()
	x.mu.Lock()
	duringRemake := touched{}
	x.remade[id] = duringRemake
	stale := x.stale[id]
	delete(x.stale, id) // damage or a purge from here on needs another rebuild
	x.gen++
	gen, live := x.gen, x.live
	x.mu.Unlock()
	turn.Unlock()
	fresh, err := x.buildFresh(ctx, id, gen)
	defer x.lockOpened(id)()
	x.mu.Lock()
	delete(x.remade, id)
	rebuilt := x.live != live // a rebuild has replaced all files meanwhile
	if err != nil && stale {
		x.stale[id] = true
	}
	x.mu.Unlock()
	if fresh == nil {
		return err
	}
	if rebuilt {
		fresh.drop()
		return nil
	}
	if fresh, err = discard(fresh, x.applyDeferred(ctx, id, fresh, duringRemake[id])); fresh == nil {
		return err
	}
	x.mu.RLock()
	files := x.parked[id]
	x.mu.RUnlock()
	if err := x.install(id, fresh); err != nil {
		return err
	}
	return x.removeFiles(files)
}

var errGone = errors.New("the database is gone")

// buildFresh makes an index with its own files from the state; nil when the database is gone.
func (x *Index) buildFresh(ctx context.Context, id oplog.DB, gen int) (d *database, err error) {
	err = x.cfg.State.Read(func(v *state.View) error {
		info, ok := v.Database(id)
		if !ok {
			return nil
		}
		if d, _, err = x.load(ctx, v, info, gen, "", databaseFiles{}); err == nil {
			d.readVectors(v, id)
		}
		return err
	})
	if err != nil && d != nil {
		d.drop()
		d = nil
	}
	return d, err
}
