package rafttest

import (
	"io/fs"
	"os"
	"path/filepath"
)

// CopyHome copies a home, or a part of one. The copy is readable by its owner only, as a home must be; os.CopyFS
// would open it to others.
func CopyHome(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o700)
		case d.Type().IsRegular():
			return os.Chmod(path, 0o600)
		}
		return nil
	})
}
