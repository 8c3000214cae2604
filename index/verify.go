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
// is being searched. It rests between two files. The files of a database in which one differs are made anew from the state, as after a purge. It
// returns how many databases those were.
func (x *Index) Verify(ctx context.Context, rest time.Duration) (damaged int, err error) {
	x.mu.RLock()
	dbs := slices.Sorted(maps.Keys(x.dbs))
	x.mu.RUnlock()
	for _, id := range dbs {
		d, err := x.pin(id)
		if err != nil {
			return damaged, err
		}
		if d == nil { // closed since, and verified when it is opened
			continue
		}
		err = d.words.Verify(ctx, rest)
		d.release()
		switch {
		case errors.Is(err, text.ErrCorrupt):
			x.cfg.Logger.Error("a file of the index is damaged: the index of the database is made anew from the state", "database", id, "dir", x.cfg.Dir, "err", err)
			damaged++
			x.mu.Lock()
			x.stale[id] = true
			x.mu.Unlock()
		case err != nil && !errors.Is(err, text.ErrClosed):
			return damaged, fmt.Errorf("index: %w", err)
		}
	}
	if damaged == 0 {
		return 0, nil
	}
	return damaged, x.Remake(ctx, false)
}
