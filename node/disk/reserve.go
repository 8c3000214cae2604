package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A node that starts writes a little before it serves: notes, a page of a file that grows, its addresses. On a disk
// that filled up while it was down that fails, and the node could not even answer reads. So a home keeps a file of
// zeros: a start that finds no space removes it, and the node rejects writes until there is space for the file again.
const (
	reserveFile  = "reserve"
	reserveBytes = 16 << 20
	reserveAgain = time.Minute // between two attempts to make it, where one failed
)

func freeOn(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// useReserve removes the reserve when the disk has no space for a start, and reports whether it did.
func useReserve(home string) (used bool, err error) {
	if free, err := freeOn(home); err != nil || free >= reserveBytes {
		return false, err
	}
	err = os.Remove(filepath.Join(home, reserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// KeepReserve makes the reserve file when it is not there and the disk has more than twice its size in addition to
// what writes need. Where that failed, as with a quota, which no measurement shows, it waits before it tries again.
func (s *Space) KeepReserve() {
	if time.Now().UnixNano() < s.reserveAt.Load() {
		return
	}
	path := filepath.Join(s.dirs[0], reserveFile)
	free, err := freeOn(s.dirs[0])
	if err != nil || free < s.min+2*reserveBytes {
		return
	}
	if _, err := os.Stat(path); err == nil {
		s.reserve.Store(0)
		return
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(allocate(f, reserveBytes), f.Close())
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		s.log.Warn("no disk space is reserved for the next start", "path", path, "err", err)
		_ = os.Remove(path + ".new")
		s.reserveAt.Store(time.Now().Add(reserveAgain).UnixNano())
		return
	}
	s.reserve.Store(0)
}

// zeros writes a file full where the system cannot allocate one.
func zeros(f *os.File, size int64) error {
	b := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(b)) {
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}

// Removable names the files of a home that no node needs, with their sizes: those that were moved aside as damaged.
func Removable(home string) (list []string) {
	for _, pattern := range []string{"*.corrupt-*", "raft/*.corrupt-*"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are good
		for _, path := range found {
			size := int64(0)
			_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error { // what cannot be looked at counts nothing
				if err != nil {
					return nil
				}
				if info, err := d.Info(); err == nil && !d.IsDir() {
					size += info.Size()
				}
				return nil
			})
			list = append(list, fmt.Sprintf("%s (%d MiB)", path, size>>20))
		}
	}
	return list
}
