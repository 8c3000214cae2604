package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// readIfThere reads a file that nobody else may read; nil when there is none.
func readIfThere(path string) ([]byte, error) {
	raw, err := private.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// removeIfThere removes files of a home.
func removeIfThere(home string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readNote reads a note for the next start without its checksum; nil when there is none. whole is false when the note
// does not match its checksum.
func readNote(path string) (text []byte, whole bool, err error) {
	raw, err := readIfThere(path)
	if raw == nil {
		return nil, true, err
	}
	text, whole = syncwriter.Unsummed(raw)
	return text, whole, nil
}
