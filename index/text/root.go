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

// checkRoot checks the list of segments before Bleve opens it.
func checkRoot(dir string) error {
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

// hookName names event and onAsyncError in tables of the process, where Bleve finds them.
const hookName = "cairn"

// opened maps the open stores, a *scorch.Scorch each, to their *Index.
var opened sync.Map

// checkRootInUse checks the list. Bleve's goroutine that reads and writes the list calls it before that. From then on
// faults of this goroutine are panics, which Bleve recovers.
func (x *Index) checkRootInUse() error {
	debug.SetPanicOnFault(true)
	err := verifyRoot(x.cfg.Dir)
	if errors.Is(err, ErrCorrupt) {
		x.fail(err)
	}
	return err
}

// openedAt returns the open index of a directory, nil if there is none. Bleve passes only the path of a file to its
// hooks.
func openedAt(dir string) (found *Index) {
	opened.Range(func(_, x any) bool {
		if x := x.(*Index); filepath.Clean(x.cfg.Dir) == filepath.Clean(dir) {
			found = x
		}
		return found == nil
	})
	return found
}

// onEvent handles Bleve's events. Before Bleve looks in the list for segments that nobody needs any more, the list is
// checked: Bleve does not look when onEvent returns false.
func onEvent(e scorch.Event) bool {
	switch e.Kind {
	case scorch.EventKindPurgerCheck:
		x, ok := opened.Load(e.Scorch)
		return !ok || x.(*Index).checkRootInUse() == nil
	case scorch.EventKindClose:
		opened.Delete(e.Scorch)
	}
	return true
}

// onAsyncError handles a failure of one of Bleve's goroutines. A goroutine that panicked has ended: callers that wait
// for it would wait for ever.
func onAsyncError(err error, dir string) {
	if !errors.Is(err, scorch.ErrAsyncPanic) {
		return // Bleve tries again
	}
	if x := openedAt(dir); x != nil {
		x.giveUpStore(err)
	}
}

// giveUpStore stops the indexer of a store in which Bleve panicked, and reports the damage. It returns ErrClosed if
// the index was closed before.
func (x *Index) giveUpStore(err error) error {
	select {
	case x.panicked <- struct{}{}:
	default: // an earlier call has signalled
	}
	x.mu.Lock()
	closed := x.closed
	x.mu.Unlock()
	if closed {
		return ErrClosed
	}
	err = corrupt(&damage.Error{Path: filepath.Join(x.cfg.Dir, rootFile), Err: fmt.Errorf("it, or a segment next to it: %w", err)})
	x.fail(err)
	return x.reportDamage(err)
}

// closeStore closes Bleve. It does not wait if one of Bleve's goroutines panicked, before or meanwhile: Bleve may
// then wait for locks that are never released.
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
