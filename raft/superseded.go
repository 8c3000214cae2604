package raft

import (
	"errors"

	hraft "github.com/hashicorp/raft"
)

// A member that led without followers may have records that were never committed. When a snapshot brings it up to
// date, the library leaves them in the log, below the snapshot's end. If it leads later, it sends them to a member
// that is behind, which accepts them as committed. So this node deletes them when it installs the snapshot, and
// again before it starts, because it may have crashed in between.

// dropSuperseded deletes what the log holds up to where a snapshot ends, unless the record there is the snapshot's
// last.
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
