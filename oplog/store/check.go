package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// checkTable reads the blocks of a table.
func (s *Store) checkTable(path string) error {
	f, err := s.disk.files().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // merged into others meanwhile
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, openError(err))
	}
	in, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(openError(err), f.Close())
	}
	r, err := sstable.NewReader(context.Background(), in, s.reading)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, openError(err)), in.Close())
	}
	err = r.ValidateBlockChecksums()
	if err != nil {
		err = fmt.Errorf("%s: %w", path, openError(err))
	}
	return errors.Join(err, r.Close())
}
