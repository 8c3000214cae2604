package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
