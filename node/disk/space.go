package disk

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// DefaultMinFree is the space below which a node takes no writes: enough for the records under way, for the growth of
// the log and of the state, and for the votes that keep a cluster going.
const DefaultMinFree = 64 << 20

// CheckEvery sets how often the node measures the free space, and how long Wait waits.
const CheckEvery = 250 * time.Millisecond

// With fewer than none bytes free, Caused blames the disk for every error, because a library may have dropped the error
// number.
const none = 1 << 20

// Space is the free space on the disks below a home. Its methods may be called from any goroutine.
type Space struct {
	dirs  []string // the home first
	min   uint64
	log   *slog.Logger
	free  atomic.Uint64
	full  atomic.Bool
	waits atomic.Pointer[error] // the error of a writer that waits in the background, whatever was measured

	reserve   atomic.Uint64 // free space that writes must leave as well, until the reserve file is made again
	reserveAt atomic.Int64  // Unix nanoseconds before which no attempt to make it follows
}

// Open measures the space below a home, and frees the reserve where a start would find none. With less than least
// bytes free, writes are rejected.
func Open(home string, least uint64, log *slog.Logger) (*Space, error) {
	used, err := useReserve(home)
	if err != nil {
		return nil, err
	}
	s := &Space{dirs: []string{home, filepath.Join(home, "raft"), filepath.Join(home, "state"), filepath.Join(home, "index")},
		min: least, log: log}
	if used {
		s.reserve.Store(reserveBytes)
	}
	s.Measure()
	return s, nil
}

// Waits sets the error of a writer that waits for free space in the background; nil when none waits. An exhausted
// quota, or a file system without free inodes, shows in no measurement.
func (s *Space) Waits(err error) {
	if err == nil {
		s.waits.Store(nil)
		return
	}
	s.waits.Store(&err)
}

// Measure takes the free space of the fullest disk, and logs when writes are rejected or taken again.
func (s *Space) Measure() {
	free := ^uint64(0)
	for _, dir := range s.dirs {
		if n, err := freeOn(dir); err == nil { // a folder that is not there yet is on its parent's disk
			free = min(free, n)
		}
	}
	s.free.Store(free)
	if full := free < s.least() || s.waits.Load() != nil; full != s.full.Swap(full) {
		if full {
			s.log.Error("disk full, writes are refused", "free_bytes", free, "min_free_bytes", s.least(), "home", s.dirs[0],
				"may_be_removed", Removable(s.dirs[0]))
		} else {
			s.log.Info("disk has room again, writes are taken", "free_bytes", free)
		}
	}
}

// least is the free space below which writes are rejected.
func (s *Space) least() uint64 { return s.min + s.reserve.Load() }

// Free is the last measurement in bytes.
func (s *Space) Free() uint64 { return s.free.Load() }

// Full reports whether writes are rejected.
func (s *Space) Full() bool { return s.full.Load() }

// Refusal is the error of a write while the disk is full; nil while it is not.
func (s *Space) Refusal() error {
	if !s.full.Load() {
		return nil
	}
	if err := s.waits.Load(); err != nil && s.free.Load() >= s.least() {
		return oplog.Errorf(oplog.Unavailable,
			"disk full: the state cannot be written; reads go on, writes are refused until space is freed")
	}
	return oplog.Errorf(oplog.Unavailable,
		"disk full: %d MiB free, %d MiB are needed; reads go on, writes are refused until space is freed",
		s.free.Load()>>20, s.least()>>20)
}

// Caused reports whether a full disk caused an error: its number says so, or a library dropped the number and the
// disk is full.
func (s *Space) Caused(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	s.Measure()
	return s.free.Load() < none
}

// Wait pauses before another attempt to write; false when stop is closed first.
func (s *Space) Wait(stop <-chan struct{}) bool {
	select {
	case <-time.After(CheckEvery):
		return true
	case <-stop:
		return false
	}
}
