package simulation

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// state stands around every change of a file of the state. Names are there at once, bytes when they are synced.
func (d *disk) state(op, path string, do func() error) error {
	return d.step(stateDisk, op+" "+filepath.Base(path), func(strikes bool) error {
		if (op == "write" || op == "create") && time.Now().Before(d.full[stateDisk]) {
			d.refused[stateDisk] = true
			return syscall.ENOSPC
		}
		if op != "sync" || !strikes {
			if err := do(); err != nil {
				return err
			}
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !strikes {
			switch op {
			case "sync":
				d.synced[inode(info)] = info.Size()
			case "create": // the number may be that of a file that was removed
				d.synced[inode(info)] = 0
			}
		}
		if strikes {
			return d.leaves()
		}
		return nil
	})
}

// inode names a file whatever it is called.
func inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// stateFiles visits the files of the state.
func (d *disk) stateFiles(f func(name string, info os.FileInfo) error) error {
	return d.files(stateDir, f)
}

// files visits the files below a directory of the home. What was removed meanwhile is passed over.
func (d *disk) files(dir string, f func(name string, info os.FileInfo) error) error {
	return filepath.WalkDir(filepath.Join(d.home, dir), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return nil
		}
		var info os.FileInfo
		if err == nil {
			info, err = e.Info()
		}
		if err == nil {
			var name string
			if name, err = filepath.Rel(d.home, path); err == nil {
				err = f(name, info)
			}
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
}

// opens has all that is there count as synced.
func (d *disk) opens() error {
	d.synced = map[uint64]int64{}
	return d.stateFiles(func(_ string, info os.FileInfo) error {
		d.synced[inode(info)] = info.Size()
		return nil
	})
}

// leavesState notes what is left of the state: what was synced, and of what was appended since, some.
func (d *disk) leavesState(b *blow) error {
	b.state = true
	return d.stateFiles(func(name string, info os.FileInfo) error {
		written, err := os.ReadFile(filepath.Join(d.home, name)) // nothing that is not synced makes the store remove what it needs
		if err == nil {
			synced := min(d.synced[inode(info)], int64(len(written)))
			b.left[name] = append(written[:synced:synced], tearEnd(b.rng, written[synced:])...)
		}
		return err
	})
}

// tearEnd returns what a disk may hold of bytes that were appended and not synced.
func tearEnd(rng *rand.Rand, end []byte) []byte {
	if rng.IntN(2) == 0 {
		end = end[:rng.IntN(len(end)+1)]
	}
	return tear(rng, 512, nil, end)
}
