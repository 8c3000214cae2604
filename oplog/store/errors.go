package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cairndb/cairn/oplog/seal"
)

var (
	// ErrDamaged says that a file does not hold what was written to it.
	ErrDamaged = errors.New("damaged")
	// ErrLocked says that another process has the store open.
	ErrLocked = errors.New("held by another process")
	// ErrClosed says that the store was closed meanwhile.
	ErrClosed = errors.New("store is closed")
)

// told marks what pebble says of a block, or a file, that is not what was written.
func told(err error) error {
	if err != nil && !errors.Is(err, ErrDamaged) && (pebble.IsCorruptionError(err) || errors.Is(err, seal.ErrDamaged) || errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// opening is told for what is met while files are opened: what cannot be read there is damage, unless the machine says that it cannot
// read now or may not, or a key is missing.
func opening(err error) error {
	var no syscall.Errno
	switch {
	case err == nil, errors.Is(err, ErrDamaged):
		return err
	case errors.As(err, &no) && no != syscall.ENOENT, errors.Is(err, seal.ErrKey), errors.Is(err, seal.ErrSealed), errors.Is(err, seal.ErrPlain):
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
