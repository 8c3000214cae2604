package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A node that is to start writes a little before it serves: notes, a page of a file that grows, its addresses. On a disk that filled
// up under it that fails, and the node could not even answer reads. So a home keeps a file of nothing: a start that finds no room
// removes it, and the node refuses writes until there is room for the file again.
const (
	reserveFile  = "reserve"
	reserveBytes = 16 << 20
)

func freeOn(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// openReserve gives a start the room that the home has kept for it, and says whether it had to.
func openReserve(home string) (used bool, err error) {
	if free, err := freeOn(home); err != nil || free >= reserveBytes {
		return false, err
	}
	err = os.Remove(filepath.Join(home, reserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// keepReserve makes the file, when it is not there and the disk has more than twice the room that it takes beside what writes need.
func (s *space) keepReserve() {
	path := filepath.Join(s.dirs[0], reserveFile)
	free, err := freeOn(s.dirs[0])
	if err != nil || free < s.min+2*reserveBytes {
		return
	}
	if _, err := os.Stat(path); err == nil {
		s.reserved.Store(0)
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
		s.log.Warn("no room is kept for the next start", "path", path, "err", err)
		_ = os.Remove(path + ".new")
		return
	}
	s.reserved.Store(0)
}

// zeros takes room by writing, where the system gives none otherwise.
func zeros(f *os.File, size int64) error {
	b := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(b)) {
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}

// Removable names what a home has that no node needs, with its size: what was moved aside as damaged.
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
