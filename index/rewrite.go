package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairndb/cairn/index/text"
)

// Rewrite brings the files of the index that are under outdated keys under the active one, while it is searched and
// follows the log. It returns when nothing is left. A checkpoint that is replaced in the moment in which its old head
// is put back is unreadable, and the state is read instead.
func (x *Index) Rewrite(ctx context.Context, pause func() error) error {
	if err := x.cfg.Keys.RewriteAll(ctx, x.cfg.Dir, pause); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.mu.RLock()
	// one that comes later is made under the active key
	dbs := slices.Concat(slices.Collect(maps.Keys(x.dbs)), slices.Collect(maps.Keys(x.parked)))
	x.mu.RUnlock()
	for _, id := range dbs {
		d, err := x.acquire(id)
		if d != nil && err == nil {
			err = d.words.Rewrite(ctx)
			d.release()
		}
		if err != nil && !errors.Is(err, text.ErrClosed) { // one that was dropped meanwhile has no files
			return fmt.Errorf("index: %w", err)
		}
	}
	return nil
}
