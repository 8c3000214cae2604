package text

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/cairndb/cairn/oplog/seal"
)

// pin keeps the index open until users.Done.
func (x *Index) pin() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.users.Add(1) // Close waits
	return nil
}

// outdatedKeys returns the ids of the outdated keys that files on disk are under, as Bleve names them.
func (x *Index) outdatedKeys() (ids map[string]struct{}, err error) {
	if x.store == nil {
		return nil, nil
	}
	if err := x.pin(); err != nil {
		return nil, err
	}
	defer x.users.Done()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := x.checkRootInUse(); err != nil {
		return nil, x.reportDamage(err)
	}
	err = x.guarded(func() (err error) {
		ids, err = x.store.(*scorch.Scorch).FileWriterIDsInUse()
		return err
	})
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

// dropKeys has Bleve rewrite the data that is under some keys. The index may be closed before it begins.
func (x *Index) dropKeys(ids map[string]struct{}) error {
	return x.guarded(func() error { return x.store.(*scorch.Scorch).DropFileWriterIDs(ids) })
}

// guarded calls a function of Bleve that reads the list of segments. If it panics, Bleve's locks stay held: the store
// is given up.
func (x *Index) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = x.giveUpStore(fmt.Errorf("panic: %v", p))
		}
	}()
	return f()
}

// How often Rewrite looks whether Bleve is done, and after how long it asks again.
const (
	rewriteLook  = 200 * time.Millisecond
	rewriteAgain = 10 * time.Minute
)

// Rewrite brings what is on disk under outdated keys under the active one, while it is searched. It returns when
// nothing is left.
func (x *Index) Rewrite(ctx context.Context) error {
	var requested time.Time
	tick := time.NewTicker(rewriteLook)
	defer tick.Stop()
	for {
		ids, err := x.outdatedKeys()
		if err != nil || len(ids) == 0 {
			return err
		}
		if time.Since(requested) > rewriteAgain {
			requested = time.Now()
			// Bleve's call does not return if there is nothing to merge after all, or if the index is closed. So
			// nothing waits for it: the loop asks Bleve which keys are in use instead.
			go x.dropKeys(ids)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
