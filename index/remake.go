package index

import (
	"context"
	"errors"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Remake makes the files of databases from which something was purged, or in which Verify found damage, anew from the
// state, so that none holds what was erased before it began; with all, those of every database. Meanwhile the old ones
// are searched and follow the log.
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
		x.startCheckpoint() // what the last one names is gone
	}
	return nil
}

func (x *Index) remake(ctx context.Context, id oplog.DB) error {
	turn := x.turn(id)
	turn.Lock()
	x.mu.Lock()
	since := touched{}
	x.remade[id] = since
	stale := x.stale[id]
	delete(x.stale, id) // one that comes from here on is not in what is read
	x.gen++
	gen, live := x.gen, x.live
	x.mu.Unlock()
	turn.Unlock()
	fresh, err := x.another(ctx, id, gen)
	defer x.turnOfOpened(id)()
	x.mu.Lock()
	delete(x.remade, id)
	rebuilt := x.live != live // all files are new ones
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
	if fresh, err = discard(fresh, x.takeLeft(ctx, id, fresh, since[id])); fresh == nil {
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

// another makes an index with files of its own from the state; nil when the database is gone.
func (x *Index) another(ctx context.Context, id oplog.DB, gen int) (d *database, err error) {
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
