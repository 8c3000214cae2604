package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
)

// Verify compares the text indexes' files of the open databases with their checksums, as opening them did: a disk may
// change a bit of a file while it is searched. It pauses after each piece of a file. If a file differs, the files of
// its database are rebuilt from the state, as after a purge.
func (x *Index) Verify(ctx context.Context, pause time.Duration) error {
	x.mu.RLock()
	dbs := slices.Sorted(maps.Keys(x.dbs))
	x.mu.RUnlock()
	for _, id := range dbs {
		d := x.database(id)
		if d == nil { // closed since, and verified when it is opened
			continue
		}
		switch err := d.words.Verify(ctx, pause); {
		case errors.Is(err, text.ErrCorrupt):
			x.cfg.Logger.Error("a file of the index is damaged: the index of the database is rebuilt from the state",
				"database", id, "dir", x.cfg.Dir, "err", err)
			x.damaged.Found(damage.File{Kind: damage.Index, Database: x.nameOf(id), Path: damage.PathOf(err, d.dir)})
			x.mu.Lock()
			x.stale[id] = true
			x.mu.Unlock()
		case err != nil && !errors.Is(err, text.ErrClosed):
			return fmt.Errorf("index: %w", err)
		}
	}
	if x.damaged.Healed() {
		return nil
	}
	if err := x.Remake(ctx, nil); err != nil {
		return err
	}
	x.damaged.Heal()
	return nil
}

// Damaged returns the files in which damage was found since Open, by Verify or when they were opened.
func (x *Index) Damaged() *damage.Files { return &x.damaged }

// Noticed returns a channel that receives when a search or a merge of segments meets damage. The receiver calls
// Verify; until then the index merges nothing in that database.
func (x *Index) Noticed() <-chan struct{} { return x.noticed }

func (x *Index) noticeDamage(err error) {
	select {
	case x.noticed <- struct{}{}:
		x.cfg.Logger.Error("a segment of the index is damaged, all files are verified now", "dir", x.cfg.Dir, "err", err)
	default: // a call of Verify is due
	}
}

// nameOf returns the name of a database; empty for one that is gone.
func (x *Index) nameOf(id oplog.DB) (name string) {
	_ = x.cfg.State.Read(func(v *state.View) error { // the scrub reports a state that cannot be read
		if info, ok := v.Database(id); ok {
			name = info.Name
		}
		return nil
	})
	return name
}

// noteDiscarded reports a damaged file that is discarded: its content is read from the state, for its database or,
// without a name, for all.
func (x *Index) noteDiscarded(database, path string) {
	x.damaged.Found(damage.File{Kind: damage.Index, Database: database, Path: path, Healed: true})
}
