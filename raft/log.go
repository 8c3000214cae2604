package raft

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/cairndb/cairn/oplog/boltfile"
	"github.com/cairndb/cairn/oplog/seal"
)

// openLog opens the log and the vote. A file that cannot be read is moved aside, kept and named, and the node
// goes on with an empty one: the leader brings it up to date (see rejoin).
func (n *Node) openLog() (err error) {
	path := filepath.Join(n.cfg.Dir, "raft.db")
	if n.logs, err = n.openStore(path); err != nil {
		if errors.Is(err, berrors.ErrTimeout) {
			return fmt.Errorf("raft log %s: held by another process", path)
		}
		if errors.Is(err, seal.ErrKey) || errors.Is(err, seal.ErrPlain) || errors.Is(err, seal.ErrSealed) {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
		aside := fmt.Sprintf("%s.corrupt-%d", path, time.Now().Unix())
		n.log.Error("raft log unreadable, moved aside", "path", path, "aside", aside, "err", err)
		if err := n.forget(); err != nil {
			return fmt.Errorf("raft log: %w", err)
		}
		if err := os.Rename(path, aside); err != nil {
			return fmt.Errorf("raft log: %w", err)
		}
		if n.logs, err = n.openStore(path); err != nil {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
	}
	gone, err := n.lostLog()
	if err != nil {
		return fmt.Errorf("raft log %s: %w", path, err)
	}
	if _, err := os.Stat(n.amnesiaFile()); err == nil || gone {
		return n.forget()
	}
	return nil
}

func (n *Node) openStore(path string) (_ store, err error) {
	defer func() { // bbolt panics on some damaged files
		if p := recover(); p != nil {
			err = fmt.Errorf("unreadable: %v", p)
		}
	}()
	if err := boltfile.Verify(path); err != nil {
		return nil, err
	}
	s, err := raftboltdb.New(raftboltdb.Options{Path: path, NoSync: n.cfg.NoSync, MsgpackUseNewTimeFormat: true,
		BoltOptions: &bbolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, OpenFile: n.cfg.OpenFile}})
	if err != nil {
		return nil, err
	}
	if _, err := s.LastIndex(); err != nil {
		s.Close()
		return nil, err
	}
	whole, err := sealStore(s, n.cfg.Keys)
	if err != nil {
		s.Close()
	}
	return whole, err
}
