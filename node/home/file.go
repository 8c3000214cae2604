package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// readIfExists reads a private file, or returns nil if there is none.
func readIfExists(path string) ([]byte, error) {
	raw, err := private.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// removeIfExists removes files of a home, if they exist.
func removeIfExists(home string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readNote reads a note for the next start without its checksum, or nil if there is none. intact is false if the
// checksum does not match.
func readNote(path string) (text []byte, intact bool, err error) {
	raw, err := readIfExists(path)
	if raw == nil {
		return nil, true, err
	}
	text, intact = syncwriter.CutSum(raw)
	return text, intact, nil
}
