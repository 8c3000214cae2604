package raft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/cairndb/cairn/oplog/seal"
)

// copyBatch is how many records share a transaction.
const copyBatch = 512

// Convert copies the log, the vote and the snapshots of a member that does not run into an empty directory, encrypted as
// into says. A directory without a log is copied as one.
func Convert(dir, to string, from, into *seal.Ring) (err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "raft.db")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	source, target := &Node{cfg: Config{Dir: dir, Keys: from}.withDefaults()}, &Node{cfg: Config{Dir: to, Keys: into}.withDefaults()}
	source.log, target.log = source.cfg.Logger, target.cfg.Logger
	old, err := source.openSnapshots()
	if err != nil {
		return err
	}
	covered, err := newest(old)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	src, err := source.openStore(filepath.Join(dir, "raft.db"), covered)
	if err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := target.openStore(filepath.Join(to, "raft.db"), 0)
	if err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := copyLog(src, dst); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	made, err := target.openSnapshots()
	if err != nil {
		return err
	}
	return copySnapshots(old, made)
}

func copyLog(src, dst store) error {
	for _, key := range []string{keyTerm, keyVoteTerm, keyVote} {
		val, err := src.Get([]byte(key))
		if errors.Is(err, raftboltdb.ErrKeyNotFound) {
			continue
		}
		if err == nil {
			err = dst.Set([]byte(key), val)
		}
		if err != nil {
			return err
		}
	}
	first, err := src.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	last, err := src.LastIndex()
	if err != nil {
		return err
	}
	var batch []*hraft.Log
	for i := first; i <= last; i++ {
		l := &hraft.Log{}
		if err := src.GetLog(i, l); err != nil {
			return err
		}
		if batch = append(batch, l); len(batch) == copyBatch || i == last {
			if err := dst.StoreLogs(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	return nil
}

func copySnapshots(src, dst hraft.SnapshotStore) error {
	list, err := src.List()
	if err != nil || len(list) == 0 {
		return err
	}
	meta, in, err := src.Open(list[0].ID) // the newest is the one that counts
	if err != nil {
		return err
	}
	defer in.Close()
	sink, err := dst.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, &transport{})
	if err != nil {
		return err
	}
	if _, err := io.Copy(sink, in); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}
