package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	hraft "github.com/hashicorp/raft"
)

// A Disk tracks the health of the log's disk. After a failed write or sync it is not used again: the system may have
// dropped the pages that it could not write and report the next sync as a success, so only closing and reading the
// file again shows what it holds. The member takes no more records, casts no more votes, says why and stops; the
// others go on. A full disk is not a failure, and a process without descriptors none of the disk: both are tried
// again.
type Disk struct {
	Ctx    context.Context // the member's: done when it stops
	Log    *slog.Logger
	Failed func(error) // told of the first failure: the member must be stopped; nil: nothing
	Leads  func() bool // whether the member leads; nil: it does not

	failure atomic.Pointer[error]
	running atomic.Bool
}

// Runs says that the library runs: a failure from now on stops the member; one before keeps it from starting.
func (d *Disk) Runs() { d.running.Store(true) }

// Err returns the reason why the log can no longer be written; nil while it can.
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

// Try runs a write to the log. A lack of room is passed on, for nothing was written; any other error is the disk's
// last.
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

// waitForRoom waits a moment on a full disk; false when the member stops meanwhile.
func (d *Disk) waitForRoom() bool {
	t := time.NewTimer(roomCheck)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.Ctx.Done():
		return false
	}
}

// LacksRoom reports whether a write found no room on the disk, or no descriptor for a new file. A sync that found
// none does not count: like any failed sync it may have dropped written pages.
func LacksRoom(err error) bool {
	return !errors.Is(err, ErrUnsynced) && slices.ContainsFunc(lacks, func(lack error) bool { return errors.Is(err, lack) })
}

var lacks = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE}

// Failstop is the log as the library uses it: the first failure of its disk ends all use.
type Failstop struct {
	hraft.LogStore
	Disk *Disk
	cut  atomic.Bool // the log's end was taken away, and nothing put in its place
}

// GetLog implements hraft.LogStore. The log was read when it was opened, so a record that cannot be read now was
// changed since. The library would panic; instead its task that asked ends here, when the member stops.
func (s *Failstop) GetLog(index uint64, l *hraft.Log) error {
	err := s.LogStore.GetLog(index, l)
	if err != nil && !errors.Is(err, hraft.ErrLogNotFound) && s.Disk.running.Load() {
		_ = s.Disk.Break(fmt.Errorf("record %d: %w", index, err))
		<-s.Disk.Ctx.Done()
		runtime.Goexit()
	}
	return err
}

// changeWaits limits how often a leader waits for room for a change of members, two seconds together.
const changeWaits = 8

// StoreLogs implements hraft.LogStore. When the log's end was cut away for these records, it waits for room on a full
// disk: the library would go on as if the old end were still there. A leader that finds no room for a change of
// members stops: the library holds the change for made whether it was stored or not, and would lead again with
// members that no other one knows of.
func (s *Failstop) StoreLogs(logs []*hraft.Log) error {
	store := func() error { return s.LogStore.StoreLogs(logs) }
	err := s.Disk.Try(store)
	changes := LacksRoom(err) && s.Disk.Leads != nil && s.Disk.Leads() &&
		slices.ContainsFunc(logs, func(l *hraft.Log) bool { return l.Type == hraft.LogConfiguration })
	for waits := 0; LacksRoom(err) && (s.cut.Load() || changes && waits < changeWaits) && s.Disk.waitForRoom(); waits++ {
		err = s.Disk.Try(store)
	}
	if err == nil {
		s.cut.Store(false)
	}
	if changes && LacksRoom(err) {
		return s.Disk.Break(fmt.Errorf("no room for a change of members, make some and start this node again: %w", err))
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
