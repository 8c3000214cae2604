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

// DefaultMinFree is the free space below which a node rejects writes. It suffices for records in progress, for the
// growth of the log and the state, and for votes.
const DefaultMinFree = 64 << 20

// CheckEvery sets how often the node measures the free space, and how long Wait waits.
const CheckEvery = 250 * time.Millisecond

// With fewer than none bytes free, Caused attributes every error to the disk, because a library may have dropped the
// error number.
const none = 1 << 20

// Space monitors the free space on the disks below a home. Its methods may be called from any goroutine.
type Space struct {
	dirs  []string // first the home
	min   uint64
	log   *slog.Logger
	free  atomic.Uint64
	full  atomic.Bool
	waits atomic.Pointer[error] // error of a writer that waits in the background; it counts more than measurements

	reserve   atomic.Uint64 // further free space that writes must leave until the reserve file exists again
	reserveAt atomic.Int64  // earliest time of the next attempt to create it, in Unix nanoseconds
}

// Open measures the space below a home, and removes the reserve file if a start would find no space. With less than
// least bytes free, writes are rejected.
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

// Waits sets the error of a writer that waits for free space in the background; nil if none waits. Measurements do not
// show an exhausted quota or a file system without free inodes.
func (s *Space) Waits(err error) {
	if err == nil {
		s.waits.Store(nil)
		return
	}
	s.waits.Store(&err)
}

// Measure measures the free space of the fullest disk, and logs when writes begin to be rejected or accepted again.
func (s *Space) Measure() {
	free := ^uint64(0)
	for _, dir := range s.dirs {
		if n, err := freeOn(dir); err == nil { // a directory that does not exist yet is on its parent's disk
			free = min(free, n)
		}
	}
	s.free.Store(free)
	if full := free < s.least() || s.waits.Load() != nil; full != s.full.Swap(full) {
		if full {
			s.log.Error("disk full, writes are refused", "free_bytes", free, "min_free_bytes", s.least(), "home", s.dirs[0],
				"may_be_removed", Removable(s.dirs[0]))
		} else {
			s.log.Info("the disk has space again, writes are accepted", "free_bytes", free)
		}
	}
}

// least returns the free space below which writes are rejected.
func (s *Space) least() uint64 { return s.min + s.reserve.Load() }

// Free returns the last measurement in bytes.
func (s *Space) Free() uint64 { return s.free.Load() }

// Full reports whether writes are rejected.
func (s *Space) Full() bool { return s.full.Load() }

// Refusal returns the error for a write while the disk is full; nil if it is not.
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

// Caused reports whether a full disk caused an error, according to the error's number or, if a library dropped the
// number, to a measurement.
func (s *Space) Caused(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	s.Measure()
	return s.free.Load() < none
}

// Wait pauses before another attempt to write. It returns false if stop is closed first.
func (s *Space) Wait(stop <-chan struct{}) bool {
	select {
	case <-time.After(CheckEvery):
		return true
	case <-stop:
		return false
	}
}
