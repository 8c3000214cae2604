package syncwriter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts a whole new file in the place of an old one, or of none: it is on disk when this returns, and a crash
// leaves the old or the new.
func Replace(path string, b []byte, mode fs.FileMode) error {
	made := path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) { // a crash left it, or somebody planted a link
		return err
	}
	f, err := os.OpenFile(made, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return Dir(filepath.Dir(path))
}
