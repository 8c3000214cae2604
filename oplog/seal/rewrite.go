package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// rewriteSuffix is the suffix of a file's copy until the copy replaces the file.
const rewriteSuffix = ".resealed"

// rewriteStep is the number of bytes that are copied at once. A concurrent sync waits for no more than that.
const rewriteStep = 1 << 20

// Outdated reports whether a data key was replaced before the ring was opened. No file under such a key is still being
// written, because a file is written once, by one process.
func (r *Ring) Outdated(id KeyID) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.outdated[id]
}

// Rotating reports whether there are outdated keys.
func (r *Ring) Rotating() bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.outdated) > 0
}

// OutdatedFiles lists the files below a directory that are sealed under an outdated key, and removes the copies that
// interrupted rewrites left. A directory that does not exist has none.
func (r *Ring) OutdatedFiles(dir string) (paths []string, err error) {
	head := make([]byte, headSize)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if strings.HasSuffix(path, rewriteSuffix) {
				err = os.Remove(path)
			} else if err = readHead(path, head); err == nil {
				if id, ok := FileKey(head); ok && r.Outdated(id) {
					paths = append(paths, path)
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			err = nil
		}
		return err
	})
	return paths, err
}

func readHead(path string, head []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	clear(head)
	if _, err = io.ReadFull(f, head); isEOF(err) {
		err = nil // the file is too short to be sealed
	}
	return err
}

// Rewrite seals a file under the active key. It writes a copy next to the file, and renames the copy to the file's name
// when it is on the disk. A process that has the file open continues to read the old one. A crash leaves the old file
// or the new one. It is not an error if the file is removed or replaced meanwhile, and then Rewrite does not change
// that. pause, if not nil, is called after each megabyte, and its error ends the copying.
func (r *Ring) Rewrite(path string, pause func() error) (err error) {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	at, err := r.At(from, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	to, err := os.OpenFile(path+rewriteSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	err = r.copyInto(to, at, pause)
	if err = errors.Join(err, to.Close()); err == nil {
		now, serr := os.Stat(path)
		switch {
		case errors.Is(serr, fs.ErrNotExist) || serr == nil && !os.SameFile(now, info):
			return os.Remove(path + rewriteSuffix)
		case serr != nil:
			err = serr
		default:
			err = os.Rename(path+rewriteSuffix, path)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), removeIfExists(path+rewriteSuffix))
	}
	return syncwriter.Dir(filepath.Dir(path))
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r *Ring) copyInto(to *os.File, at *FileAt, pause func() error) error {
	w, err := r.Writer(&syncwriter.Writer{W: to, File: to, Every: rewriteStep})
	if err != nil {
		return err
	}
	buf := make([]byte, rewriteStep)
	for in := io.NewSectionReader(at, 0, at.Size()); ; {
		n, err := io.ReadFull(in, buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if isEOF(err) {
			break
		}
		if err == nil && pause != nil {
			err = pause()
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), to.Sync())
}

// RewriteAll rewrites the files that OutdatedFiles finds below a directory. It continues after an error.
func (r *Ring) RewriteAll(ctx context.Context, dir string, pause func() error) error {
	paths, err := r.OutdatedFiles(dir)
	for _, path := range paths {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, r.Rewrite(path, pause))
	}
	return err
}
