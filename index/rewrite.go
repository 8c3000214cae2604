package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairndb/cairn/index/text"
)

// Rewrite encrypts the files of the index that are under outdated keys under the active one, while the index is
// searched and follows the log. It returns when no such file is left. If a checkpoint is replaced while its old head is
// rewritten, it becomes unreadable, and the next start reads the state instead.
func (x *Index) Rewrite(ctx context.Context, pause func() error) error {
	if err := x.cfg.Keys.RewriteAll(ctx, x.cfg.Dir, pause); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	x.mu.RLock()
	// later ones are made under the active key
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
