package raft

import (
	"errors"

	hraft "github.com/hashicorp/raft"
)

// A member that led without followers may have records that never counted. When it is brought up to date by a
// snapshot the library leaves them in the log, below the snapshot's end, and when it leads one day it sends them to a
// member that is behind, which takes them for the cluster's. So they go: when the snapshot is installed, and before a
// start, for a crash may have come in between.

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
