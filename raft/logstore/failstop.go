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
// file again shows its content. The member accepts no more records, casts no more votes, logs the reason and stops;
// the other members go on. A full disk and a lack of descriptors are not failures: the write is tried again.
type Disk struct {
	Ctx    context.Context // the member's context: done when it stops
	Log    *slog.Logger
	Failed func(error) // gets the first failure and must stop the member; may be nil
	Leads  func() bool // reports whether the member leads; nil: never

	failure atomic.Pointer[error]
	running atomic.Bool
}

// Started notes that the library runs. A failure from now on stops the member; an earlier failure prevents its start.
func (d *Disk) Started() { d.running.Store(true) }

// Err returns the reason why the log can no longer be written; nil while it can.
func (d *Disk) Err() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Fail ends all writing to the log.
func (d *Disk) Fail(err error) error {
	err = fmt.Errorf("the log's disk has failed: %w", err)
	if d.failure.CompareAndSwap(nil, &err) && d.Ctx.Err() == nil {
		d.Log.Error("the log's disk has failed, this node stops", "err", err)
		if d.Failed != nil {
			d.Failed(err)
		}
	}
	return d.Err()
}

// Try runs a write to the log. It returns an error about a lack of space unchanged, because nothing was written.
// After any other error the disk is not used again.
func (d *Disk) Try(write func() error) error {
	if err := d.Err(); err != nil {
		return err
	}
	err := write()
	if err != nil && !LacksSpace(err) {
		return d.Fail(err)
	}
	return err
}

const spaceCheck = 250 * time.Millisecond

// waitForSpace waits a moment on a full disk. It returns false if the member stops meanwhile.
func (d *Disk) waitForSpace() bool {
	t := time.NewTimer(spaceCheck)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.Ctx.Done():
		return false
	}
}

// LacksSpace reports whether a write failed because the disk is full or the process has no descriptors left. A
// failed sync never counts: it may have dropped written pages.
func LacksSpace(err error) bool {
	return !errors.Is(err, ErrUnsynced) && slices.ContainsFunc(spaceErrors, func(lack error) bool { return errors.Is(err, lack) })
}

var spaceErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE}

// Failstop wraps the log for the library. After the first failure of the disk no operation succeeds.
type Failstop struct {
	hraft.LogStore
	Disk *Disk
	cut  atomic.Bool // the log's end was deleted, and its replacement is not stored yet
}

// GetLog implements hraft.LogStore. Every record was readable when the log was opened, so an unreadable one has
// changed since. The library would panic on it. Instead GetLog stops the member and ends the calling task.
func (s *Failstop) GetLog(index uint64, l *hraft.Log) error {
	err := s.LogStore.GetLog(index, l)
	if err != nil && !errors.Is(err, hraft.ErrLogNotFound) && s.Disk.running.Load() {
		_ = s.Disk.Fail(fmt.Errorf("record %d: %w", index, err))
		<-s.Disk.Ctx.Done()
		runtime.Goexit()
	}
	return err
}

// changeWaits limits how often a leader waits for disk space for a change of members: two seconds in total.
const changeWaits = 8

// StoreLogs implements hraft.LogStore. If the log's end was deleted to make way for these records, it waits for space
// on a full disk, because the library would go on as if the old end were still there. A leader that finds no space
// for a change of members stops: the library considers the change made whether it was stored or not, and would lead
// again with a configuration that no other member knows.
func (s *Failstop) StoreLogs(logs []*hraft.Log) error {
	store := func() error { return s.LogStore.StoreLogs(logs) }
	err := s.Disk.Try(store)
	changes := LacksSpace(err) && s.Disk.Leads != nil && s.Disk.Leads() &&
		slices.ContainsFunc(logs, func(l *hraft.Log) bool { return l.Type == hraft.LogConfiguration })
	for waits := 0; LacksSpace(err) && (s.cut.Load() || changes && waits < changeWaits) && s.Disk.waitForSpace(); waits++ {
		err = s.Disk.Try(store)
	}
	if err == nil {
		s.cut.Store(false)
	}
	if changes && LacksSpace(err) {
		return s.Disk.Fail(fmt.Errorf("no room for a change of members, make some and start this node again: %w", err))
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
