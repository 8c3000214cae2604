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

// A start writes a little before the node serves: notes, a page of a file that grows, addresses. If the disk became
// full while the node was down, these writes would fail, and the node could not even answer reads. So a home has a file
// of zeros as a reserve. A start that finds no space removes the file, and the node rejects writes until there is space
// to create it again.
const (
	reserveFile  = "reserve"
	reserveBytes = 16 << 20
	reserveAgain = time.Minute // between two attempts to create it after a failure
)

func freeOn(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// useReserve removes the reserve if the disk has no space for a start, and reports whether it did.
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

// KeepReserve creates the reserve file if it is missing and the disk has more than twice its size in addition to the
// space that writes need. After a failure, for example because of a quota, which no measurement shows, it waits before
// it tries again.
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

// zeros fills a file with zeros, on systems that cannot allocate blocks.
func zeros(f *os.File, size int64) error {
	b := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(b)) {
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}

// Removable lists the files of a home that were moved aside as damaged, with their sizes. The node does not need them.
func Removable(home string) (list []string) {
	for _, pattern := range []string{"*.corrupt-*", "raft/*.corrupt-*"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // the patterns are valid
		for _, path := range found {
			size := int64(0)
			_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error { // unreadable files count as empty
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
