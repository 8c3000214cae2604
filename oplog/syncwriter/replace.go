package syncwriter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a complete new file in place of an old one, or of none. The file is on disk when Replace returns,
// and a crash leaves the old file or the new one. The new file gets a unique temporary name, so two processes may
// replace the same path at once: one of the two files remains.
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
