package text

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/cairndb/cairn/index/text/boltfile"
	"github.com/cairndb/cairn/oplog/damage"
)

// rootFile is the name of the file that lists Bleve's segments. bbolt and Bleve's goroutines trust every byte of it,
// and read it again and again. On a damaged one they fault in ways that no recover of ours catches, free pages until
// there is no memory, or panic and keep their locks.
const rootFile = "root.bolt"

// prepare checks the list before Bleve opens it.
func prepare(dir string) error {
	path := filepath.Join(dir, rootFile)
	return corruptRoot(path, boltfile.Check(path))
}

// verifyRoot checks the list of a store that is open.
func verifyRoot(dir string) error {
	path := filepath.Join(dir, rootFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("verify segments: %w", err)
	}
	defer f.Close()
	return corruptRoot(path, boltfile.CheckInUse(f))
}

func corruptRoot(path string, err error) error {
	if errors.Is(err, boltfile.ErrDamaged) {
		return corrupt(&damage.Error{Path: path, Err: err})
	}
	return err
}

// hookName names event and asyncError in tables of the process, where Bleve finds them.
const hookName = "cairn"

// opened are the stores that are open: a *scorch.Scorch → its *Index.
var opened sync.Map

// rootWanted is called by the goroutine of Bleve that reads and writes the list, before it does. The list is checked,
// and from here on faults of this goroutine are panics, which Bleve recovers.
func (x *Index) rootWanted() error {
	debug.SetPanicOnFault(true)
	err := verifyRoot(x.cfg.Dir)
	if errors.Is(err, ErrCorrupt) {
		x.fail(err)
	}
	return err
}

// openedAt is the open index of a directory; nil when there is none. Bleve hands its functions no more than a file's
// path.
func openedAt(dir string) (found *Index) {
	opened.Range(func(_, x any) bool {
		if x := x.(*Index); filepath.Clean(x.cfg.Dir) == filepath.Clean(dir) {
			found = x
		}
		return found == nil
	})
	return found
}

// event is called by Bleve, here before it looks into the list for what is not needed any more. It does not look when
// this is false.
func event(e scorch.Event) bool {
	switch e.Kind {
	case scorch.EventKindPurgerCheck:
		x, ok := opened.Load(e.Scorch)
		return !ok || x.(*Index).rootWanted() == nil
	case scorch.EventKindClose:
		opened.Delete(e.Scorch)
	}
	return true
}

// asyncError is called by Bleve when one of its goroutines has failed. One that panicked is gone, and whatever waits
// for it would wait for ever.
func asyncError(err error, dir string) {
	if !errors.Is(err, scorch.ErrAsyncPanic) {
		return // Bleve tries again
	}
	if x := openedAt(dir); x != nil {
		x.lost(err)
	}
}

// lost gives up a store in which Bleve panicked, unless it was closed before. It returns why.
func (x *Index) lost(err error) error {
	select {
	case x.panicked <- struct{}{}:
	default: // another was first
	}
	x.mu.Lock()
	closed := x.closed
	x.mu.Unlock()
	if closed {
		return ErrClosed
	}
	err = corrupt(&damage.Error{Path: filepath.Join(x.cfg.Dir, rootFile), Err: fmt.Errorf("it, or a segment next to it: %w", err)})
	x.fail(err)
	return x.tell(err)
}

// closeStore closes Bleve. Where a goroutine of it panicked, before or meanwhile, it is left to itself: it may wait for
// locks that are never released.
func (x *Index) closeStore() error {
	done := make(chan error, 1)
	go func() { done <- x.store.Close() }()
	select {
	case err := <-done:
		return err
	case <-x.panicked:
		opened.Delete(x.store)
		return nil
	}
}
