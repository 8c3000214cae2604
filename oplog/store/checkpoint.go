package store

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Checkpoint makes another store of the same rows in a directory that does not exist yet: hard links to the tables,
// and copies of the small files that list them. All that was committed before the call is in it, and perhaps what was
// committed meanwhile. When it returns without an error the checkpoint is on the disk; otherwise the caller removes
// what may be left of it.
//
// It does not wait for a disk without room. Pebble does, behind a list of tables that it cannot write, so it runs in
// a goroutine, which ends before the store is closed.
func (s *Store) Checkpoint(dir string) error {
	s.dirty.Store(true) // pebble copies no list of tables before a store that was opened has flushed, if only nothing
	if err := s.Flush(); err != nil {
		return err
	}
	made := make(chan error)
	given := make(chan struct{}) // closed when the caller no longer waits
	s.checkpoints.Go(func() {
		err := errors.Join(s.db.Checkpoint(dir), s.disk.takeCheckpointErr())
		select {
		case <-given:
			_ = s.disk.FS.RemoveAll(dir) // the owner removes what is left
		case made <- err:
		}
	})
	for {
		stuck := s.disk.troubleBegins()
		if err := s.diskError(); err != nil {
			close(given)
			return err
		}
		select {
		case err := <-made:
			if err != nil {
				err = fmt.Errorf("checkpoint: %w", damageError(err))
			}
			return err
		case <-stuck:
		}
	}
}

// owns reports whether a path belongs to the store: every path before it is open, and then those in its directory.
// Other paths belong to a checkpoint, whose changes may fail.
func (d *disk) owns(path string) bool {
	return !d.open.Load() || filepath.Dir(path) == d.dir || path == d.dir
}
