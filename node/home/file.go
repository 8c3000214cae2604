package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// WriteFile puts a whole new file in the place of an old one, or of none: it is on disk when this returns, and a crash leaves the old or the new.
func WriteFile(path string, b []byte, mode fs.FileMode) error {
	made := path + ".new"
	f, err := os.OpenFile(made, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return errors.Join(os.Rename(made, path), syncwriter.Dir(filepath.Dir(path)))
}

// readIfThere reads a file; nil when there is none.
func readIfThere(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
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
