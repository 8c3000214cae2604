package raft

import (
	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
)

// dropSuperseded deletes, before a node starts, records that its newest snapshot stands for and contradicts: a crash may have come in between.
func (n *Node) dropSuperseded(snaps hraft.SnapshotStore) error {
	list, err := snaps.List()
	if err != nil || len(list) == 0 {
		return err
	}
	err = recovery.DropSuperseded(n.records, list[0].Index, list[0].Term)
	if logstore.LacksRoom(err) {
		n.supersededTo.Store(list[0].Index)
		n.log.Error("records that a snapshot replaced not deleted from the log", "index", list[0].Index, "err", err)
		return nil
	}
	return err
}
