package recovery

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// AsideName returns an unused name for a damaged file or directory that is moved aside.
func AsideName(path string) string {
	for at := time.Now().Unix(); ; at++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, at)
		if _, err := os.Lstat(aside); err != nil {
			return aside
		}
	}
}

// SetAside renames a log or its snapshots; it does nothing if there are none.
func SetAside(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// WriteFile writes a small file, and syncs it when sync is true.
func WriteFile(path string, b []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
