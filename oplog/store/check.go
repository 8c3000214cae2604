package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// checkTable reads the blocks of a table.
func (s *Store) checkTable(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, openError(err))
		}
	}()
	f, err := s.disk.files().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // merged into others meanwhile
	}
	if err != nil {
		return err
	}
	in, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), in, s.reading)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// EmptyCache drops the blocks in memory, so that the next reads are of the files.
func (s *Store) EmptyCache() { s.cache.Reserve(int(s.cache.MaxSize()))() }
