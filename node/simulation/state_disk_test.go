package simulation

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// stateStep runs one step of the state's disk. A name lasts at once, written bytes last once they are synced.
func (d *disk) stateStep(op, path string, do func() error) error {
	return d.step(stateDisk, op+" "+filepath.Base(path), func(strikes bool) error {
		if (op == "write" || op == "create") && time.Now().Before(d.full[stateDisk]) {
			d.wasFull[stateDisk] = true
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
			case "create": // the inode may be that of a removed file
				d.synced[inode(info)] = 0
			}
		}
		if strikes {
			return d.recordLeft()
		}
		return nil
	})
}

// inode identifies a file across renames.
func inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// stateFiles calls f for each file of the state.
func (d *disk) stateFiles(f func(name string, info os.FileInfo) error) error {
	return d.files(stateDir, f)
}

// files calls f for each file below a directory of the home. It ignores files that are removed meanwhile.
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

// markSynced marks all bytes of the state as synced.
func (d *disk) markSynced() error {
	d.synced = map[uint64]int64{}
	return d.stateFiles(func(_ string, info os.FileInfo) error {
		d.synced[inode(info)] = info.Size()
		return nil
	})
}

// recordLeftState records the files of the state that remain: their synced bytes, and some of those appended since.
// All files that the store needs exist, because it removes none before their replacement is synced.
func (d *disk) recordLeftState(fault *diskFault) error {
	fault.hasState = true
	return d.stateFiles(func(name string, info os.FileInfo) error {
		written, err := os.ReadFile(filepath.Join(d.home, name))
		if err == nil {
			synced := min(d.synced[inode(info)], int64(len(written)))
			fault.files[name] = append(written[:synced:synced], tearEnd(fault.rng, written[synced:])...)
		}
		return err
	})
}

// tearEnd returns the bytes that a disk may hold of an unsynced end of a file.
func tearEnd(rng *rand.Rand, end []byte) []byte {
	if rng.IntN(2) == 0 {
		end = end[:rng.IntN(len(end)+1)]
	}
	return tear(rng, 512, nil, end)
}
