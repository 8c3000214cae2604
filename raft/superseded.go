package raft

import (
	"errors"

	hraft "github.com/hashicorp/raft"
)

// A member that led without followers may have records that were never committed. When a snapshot brings it up to
// date, the library leaves these records in the log, below the snapshot's end. If the member leads later, it sends
// them to a member that lags, which accepts them as committed. So this node deletes them when it installs the
// snapshot, and again at its start, because it may have crashed in between.

// dropSuperseded deletes the log's records up to the end of a snapshot, unless the record at that index is the
// snapshot's last record.
func (n *Node) dropSuperseded(index, term uint64) error {
	first, err := n.records.FirstIndex()
	if err != nil || first == 0 || first > index {
		return err
	}
	var l hraft.Log
	if err := n.records.GetLog(index, &l); err == nil && l.Term == term || err != nil && !errors.Is(err, hraft.ErrLogNotFound) {
		return err
	}
	if err = n.records.DeleteRange(first, index); err != nil {
		n.supersededTo.Store(index)
		n.log.Error("records that a snapshot replaced not deleted from the log", "index", index, "err", err)
	}
	return err
}
