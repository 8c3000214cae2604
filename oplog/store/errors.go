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
	// ErrFailed says that the disk rejected a change, after which the store takes none.
	ErrFailed = errors.New("the state's disk has failed")
	// ErrClosed says that the store was closed meanwhile.
	ErrClosed = errors.New("store is closed")
)

// damageError marks an error of pebble as ErrDamaged where a block or a file is not what was written.
func damageError(err error) error {
	if err != nil && !errors.Is(err, ErrDamaged) &&
		(pebble.IsCorruptionError(err) || errors.Is(err, seal.ErrDamaged) || errors.Is(err, fs.ErrNotExist)) {
		if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
			err = info.Details // without the line that carries info
		}
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// openError is damageError while files are opened: any error there is damage, but for one of the system (no
// permission, a broken disk) and a key that is missing.
func openError(err error) error {
	var no syscall.Errno
	switch {
	case err == nil, errors.Is(err, ErrDamaged):
		return err
	case errors.As(err, &no) && no != syscall.ENOENT, errors.Is(err, seal.ErrKey), errors.Is(err, seal.ErrSealed),
		errors.Is(err, seal.ErrPlain):
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
