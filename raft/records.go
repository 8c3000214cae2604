package raft

import (
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/logstore"
)

// ErrNoRecord reports that a log does not have a record: it was compacted, or never stored.
var ErrNoRecord = errors.New("the log does not hold this record")

// Records calls f with the records from one index to another in the log of a stopped node.
func Records(cfg Config, sm StateMachine, from, to uint64, f func(Record) error) error {
	return offline(cfg, sm, func(n *Node) error {
		for i := from; i <= to; i++ {
			var l hraft.Log
			err := n.logs.GetLog(i, &l)
			if errors.Is(err, hraft.ErrLogNotFound) {
				err = ErrNoRecord
			}
			if err != nil {
				return fmt.Errorf("record %d: %w", i, err)
			}
			if err := f(record(&l)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordsAside calls f with records of a log that Discard has moved aside.
func RecordsAside(dir string, keys *seal.Ring, from, to uint64, f func(Record) error) (err error) {
	logs, err := logstore.Open(logDir(dir), logstore.Options{Keys: keys})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	for i := from; i <= to && err == nil; i++ {
		var l hraft.Log
		if err = logs.GetLog(i, &l); err == nil {
			err = f(record(&l))
		}
	}
	return err
}
