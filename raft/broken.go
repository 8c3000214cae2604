package raft

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
)

// A disk that did not write, or did not sync, is not asked again. The system may have thrown away the pages it could not
// write and call the next sync a success, so what the file holds is not known before it was closed and read again. The
// member takes no more records and casts no more votes, says why, and stops; the others go on without it.

// strict is the log's store: its first failure is its last.
type strict struct {
	hraft.LogStore
	n   *Node
	cut atomic.Bool // the log's end was taken away, and nothing put in its place
}

// GetLog implements hraft.LogStore. The log was read when it was opened, so what cannot be read now was changed since. The
// library would panic: the one of its tasks that asked ends here instead.
func (s *strict) GetLog(index uint64, l *hraft.Log) error {
	err := s.LogStore.GetLog(index, l)
	if err != nil && !errors.Is(err, hraft.ErrLogNotFound) && s.n.running.Load() {
		s.n.breaks(fmt.Errorf("record %d: %w", index, err))
		<-s.n.ctx.Done()
		runtime.Goexit()
	}
	return err
}

// StoreLogs implements hraft.LogStore. The library goes on with the end that it has had taken away when nothing can be put there,
// so room for that is waited for.
func (s *strict) StoreLogs(logs []*hraft.Log) error {
	err := s.n.kept(func() error { return s.LogStore.StoreLogs(logs) })
	for lacksRoom(err) && s.cut.Load() && s.n.waits() {
		err = s.n.kept(func() error { return s.LogStore.StoreLogs(logs) })
	}
	if err == nil {
		s.cut.Store(false)
	}
	return err
}

// StoreLog implements hraft.LogStore.
func (s *strict) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// DeleteRange implements hraft.LogStore.
func (s *strict) DeleteRange(first, last uint64) error {
	return s.n.kept(func() error {
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

// kept writes to the log. A lack of room is passed on: it ends, and nothing was written.
func (n *Node) kept(write func() error) error {
	if err := n.broken(); err != nil {
		return err
	}
	err := write()
	if err != nil && !lacksRoom(err) {
		return n.breaks(err)
	}
	return err
}

// lacksRoom says whether a write found no room. A sync that found none may have thrown away what was written, like any other.
func lacksRoom(err error) bool {
	return !errors.Is(err, logstore.ErrUnsynced) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}

// broken is why the log cannot be written any more; nil while it can.
func (n *Node) broken() error {
	if p := n.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// breaks ends all writing to the log.
func (n *Node) breaks(err error) error {
	err = fmt.Errorf("the log's disk has failed: %w", err)
	if n.failure.CompareAndSwap(nil, &err) && n.ctx.Err() == nil {
		n.log.Error("the log's disk has failed, this node stops", "err", err)
		if n.cfg.Failed != nil {
			n.cfg.Failed(err)
		}
	}
	return n.broken()
}
