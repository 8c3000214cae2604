package syncwriter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts a whole new file in the place of an old one, or of none: it is on disk when this returns, and a crash
// leaves the old or the new. The new file is made under a name that no other has, so that two writers of a path, in
// two processes, get in each other's way no more than one after the other would.
func Replace(path string, b []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tmp-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return Dir(dir)
}
