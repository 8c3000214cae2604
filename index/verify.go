package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairndb/cairn/index/text"
)

// Verify compares the files of words of the open indexes with their checksums, as opening them did, for a disk may change a bit of a file that
// is being searched. It rests between two files. The files of a database in which one differs are made anew from the state, as after a purge.
func (x *Index) Verify(ctx context.Context, rest time.Duration) error {
	x.mu.RLock()
	dbs := slices.Sorted(maps.Keys(x.dbs))
	x.mu.RUnlock()
	before := x.Damaged()
	for _, id := range dbs {
		d, err := x.pin(id)
		if err != nil {
			return err
		}
		if d == nil { // closed since, and verified when it is opened
			continue
		}
		err = d.words.Verify(ctx, rest)
		d.release()
		switch {
		case errors.Is(err, text.ErrCorrupt):
			x.cfg.Logger.Error("a file of the index is damaged: the index of the database is made anew from the state", "database", id, "dir", x.cfg.Dir, "err", err)
			x.damaged.Add(1)
			x.mu.Lock()
			x.stale[id] = true
			x.mu.Unlock()
		case err != nil && !errors.Is(err, text.ErrClosed):
			return fmt.Errorf("index: %w", err)
		}
	}
	if x.Damaged() == before {
		return nil
	}
	return x.Remake(ctx, false)
}

// Damaged is how often Verify has found the index of a database damaged since Open.
func (x *Index) Damaged() uint64 { return x.damaged.Load() }
