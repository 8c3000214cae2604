package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A Disk is what a member knows of the disk that its log is on. One that did not write, or did not sync, is not asked again: the
// system may have thrown away the pages it could not write and call the next sync a success, so what the file holds is not known
// before it was closed and read again. The member takes no more records and casts no more votes, says why, and stops; the others
// go on without it. A disk without room gets it back sooner or later, and is asked again.
type Disk struct {
	Ctx    context.Context // the member's: done when it stops
	Log    *slog.Logger
	Failed func(error) // told of the first failure: the member must be stopped; nil: nothing

	failure atomic.Pointer[error]
	running atomic.Bool
}

// Runs says that the library runs: what fails from now on ends the member, and what failed before keeps it from starting.
func (d *Disk) Runs() { d.running.Store(true) }

// Err is why the log cannot be written any more; nil while it can.
func (d *Disk) Err() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Break ends all writing to the log.
func (d *Disk) Break(err error) error {
	err = fmt.Errorf("the log's disk has failed: %w", err)
	if d.failure.CompareAndSwap(nil, &err) && d.Ctx.Err() == nil {
		d.Log.Error("the log's disk has failed, this node stops", "err", err)
		if d.Failed != nil {
			d.Failed(err)
		}
	}
	return d.Err()
}

// Try writes to the log. A lack of room is passed on: it ends, and nothing was written.
func (d *Disk) Try(write func() error) error {
	if err := d.Err(); err != nil {
		return err
	}
	err := write()
	if err != nil && !LacksRoom(err) {
		return d.Break(err)
	}
	return err
}

const roomCheck = 250 * time.Millisecond

// waits gives a full disk a moment; false when the member stops meanwhile.
func (d *Disk) waits() bool {
	t := time.NewTimer(roomCheck)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.Ctx.Done():
		return false
	}
}

// LacksRoom says whether a write found no room. A sync that found none may have thrown away what was written, like any other.
func LacksRoom(err error) bool {
	return !errors.Is(err, ErrUnsynced) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}

// Failstop is a log as the library has it: the first failure of its disk is its last.
type Failstop struct {
	hraft.LogStore
	Disk *Disk
	cut  atomic.Bool // the log's end was taken away, and nothing put in its place
}

// GetLog implements hraft.LogStore. The log was read when it was opened, so what cannot be read now was changed since. The
// library would panic: the one of its tasks that asked ends here instead.
func (s *Failstop) GetLog(index uint64, l *hraft.Log) error {
	err := s.LogStore.GetLog(index, l)
	if err != nil && !errors.Is(err, hraft.ErrLogNotFound) && s.Disk.running.Load() {
		_ = s.Disk.Break(fmt.Errorf("record %d: %w", index, err))
		<-s.Disk.Ctx.Done()
		runtime.Goexit()
	}
	return err
}

// StoreLogs implements hraft.LogStore. The library goes on with the end that it has had taken away when nothing can be put there,
// so room for that is waited for.
func (s *Failstop) StoreLogs(logs []*hraft.Log) error {
	err := s.Disk.Try(func() error { return s.LogStore.StoreLogs(logs) })
	for LacksRoom(err) && s.cut.Load() && s.Disk.waits() {
		err = s.Disk.Try(func() error { return s.LogStore.StoreLogs(logs) })
	}
	if err == nil {
		s.cut.Store(false)
	}
	return err
}

// StoreLog implements hraft.LogStore.
func (s *Failstop) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// DeleteRange implements hraft.LogStore.
func (s *Failstop) DeleteRange(first, last uint64) error {
	return s.Disk.Try(func() error {
		end, err := s.LastIndex()
		if err == nil {
			err = s.LogStore.DeleteRange(first, last)
		}
		if err == nil && last >= end {
			s.cut.Store(true)
		}
		return err
	})
}
