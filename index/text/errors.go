package text

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by calls on a closed index.
var ErrClosed = errors.New("text index closed")

// ErrLocked is returned by Open when another process or Index has the directory open.
var ErrLocked = errors.New("text index in use")

// ErrCorrupt is wrapped by every error that reports that the stored index cannot be read. The index is derived: close
// it, remove its directory and rebuild it.
var ErrCorrupt = errors.New("text index corrupt")

// ErrVersion reports that another version of Cairn wrote the stored index. The index is not damaged, but this version
// cannot read it.
var ErrVersion = errors.New("written by another version")

func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// recoverCorrupt turns a panic of Bleve's decoders, which trust their bytes, into ErrCorrupt.
func recoverCorrupt(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: decoder panicked: %v", ErrCorrupt, p)
	}
}
