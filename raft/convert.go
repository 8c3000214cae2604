package raft

import (
	"errors"
	"fmt"
	"io"
	"os"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/logstore"
)

// copyBatch is the number of records stored at once.
const copyBatch = 512

// Convert copies the plain log, vote and snapshots of a stopped member into an empty directory, encrypted under keys.
// A directory without a log becomes an empty copy. The state machine has the states that the snapshots name; the copy
// of a snapshot contains the state itself.
func Convert(dir, to string, keys *seal.Ring, sm StateMachine) (err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(logDir(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	source, target := newNode(Config{Dir: dir}.withDefaults(), sm), newNode(Config{Dir: to, Keys: keys, Retain: func() uint64 { return 0 }}.withDefaults(), nil)
	if err := errors.Join(source.makeDirs(), target.makeDirs()); err != nil {
		return err
	}
	covered, err := source.snaps.newest()
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	if err := source.openStore(logDir(dir), covered.Index); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.closeStore()) }()
	if err := target.openStore(logDir(to), 0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.closeStore()) }()
	if err := copyLog(source.logs, target.logs); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	if err := target.votes.Copy(source.votes); err != nil {
		return fmt.Errorf("term and vote: %w", err)
	}
	return copySnapshot(source.snaps, target.snaps)
}

// copyLog copies the log and the records that are retained before it. The target retains every record that it cuts
// off.
func copyLog(src, dst *logstore.Store) error {
	dst.NoteCommitted(src.Committed()) // closing the target stores it
	first, err := src.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	last, err := src.LastIndex()
	if err != nil {
		return err
	}
	r := src.Reader()
	defer r.Close()
	for i := src.FirstKept(); i < first; i++ {
		_, _ = r.Read(i) // read errors show here which records are lost; they, and those before them, are not copied
	}
	kept := min(src.FirstKept(), first)
	var batch []*hraft.Log
	for i := kept; i <= last; i++ {
		l, err := r.Read(i)
		if err != nil {
			return err
		}
		if batch = append(batch, l); len(batch) == copyBatch || i == last {
			if err := dst.StoreLogs(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if kept == first {
		return nil
	}
	return dst.DeleteRange(kept, first-1)
}

func copySnapshot(src, dst *snapshots) error {
	last, err := src.newest() // older snapshots are not needed
	if err != nil || last.Index == 0 {
		return err
	}
	meta, in, err := src.Open(last.ID)
	if err != nil {
		return err
	}
	defer in.Close()
	sink, err := dst.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(sink, in); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}
