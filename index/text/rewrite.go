package text

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/cairndb/cairn/oplog/seal"
)

// use keeps the index open until users.Done.
func (x *Index) use() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.users.Add(1) // Close waits
	return nil
}

// outdated are the ids of the outdated keys that files on disk are under, as Bleve names them.
func (x *Index) outdatedKeys() (map[string]struct{}, error) {
	if x.store == nil {
		return nil, nil
	}
	if err := x.use(); err != nil {
		return nil, err
	}
	defer x.users.Done()
	ids, err := x.store.(*scorch.Scorch).FileWriterIDsInUse()
	if err != nil {
		return nil, fmt.Errorf("keys of the index: %w", err)
	}
	for id := range ids {
		if n, err := strconv.ParseUint(id, 16, 32); err != nil || !x.cfg.Keys.Outdated(seal.KeyID(n)) {
			delete(ids, id)
		}
	}
	return ids, nil
}

// How often Rewrite looks whether Bleve is done, and after how long it asks again.
const (
	rewriteLook  = 200 * time.Millisecond
	rewriteAgain = 10 * time.Minute
)

// Rewrite brings what is on disk under outdated keys under the active one, while it is searched. It returns when
// nothing is left.
func (x *Index) Rewrite(ctx context.Context) error {
	var asked time.Time
	tick := time.NewTicker(rewriteLook)
	defer tick.Stop()
	for {
		ids, err := x.outdatedKeys()
		if err != nil || len(ids) == 0 {
			return err
		}
		if time.Since(asked) > rewriteAgain {
			asked = time.Now()
			// Bleve's call does not return when there was nothing to merge after all, or when the index is closed: it
			// is left to itself, and Bleve is asked instead what it has done.
			go x.store.(*scorch.Scorch).DropFileWriterIDs(ids)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
