package kit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// WriteFile replaces a file at once and durably: a crash leaves the old content or the new.
func WriteFile(path string, content []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncwriter.Dir(dir)
}
