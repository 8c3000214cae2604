package raft

import (
	"errors"
	"fmt"
	"syscall"

	hraft "github.com/hashicorp/raft"
)

// A disk that did not write, or did not sync, is not asked again. The system may have thrown away the pages it could not
// write and call the next sync a success, so what the file holds is not known before it was closed and read again. The
// member takes no more records and casts no more votes, says why, and stops; the others go on without it.

// strict is the log's store: its first failure is its last.
type strict struct {
	store
	n *Node
}

// StoreLogs implements hraft.LogStore.
func (s strict) StoreLogs(logs []*hraft.Log) error {
	return s.n.kept(func() error { return s.store.StoreLogs(logs) })
}

// StoreLog implements hraft.LogStore.
func (s strict) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// DeleteRange implements hraft.LogStore.
func (s strict) DeleteRange(first, last uint64) error {
	return s.n.kept(func() error { return s.store.DeleteRange(first, last) })
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

func lacksRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
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
