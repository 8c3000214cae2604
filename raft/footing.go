package raft

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	hraft "github.com/hashicorp/raft"
)

// A log that was cut begins where a snapshot ends, and the members are written in one of the two. Without that snapshot the
// library does not start, and nobody knows who the members were. So such a log counts as damaged (see verify): the others,
// or the state of a node that is alone, give this node another (see rejoin and refound).

// usable is where the newest snapshot ends that can be used; 0 when there is none. One that the state is behind is to be
// restored, so all of it has to be whole.
func (n *Node) usable(snaps hraft.SnapshotStore) (end uint64, err error) {
	list, err := snaps.List()
	if err != nil {
		return 0, err
	}
	applied, _ := n.sm.Applied()
	for i, m := range list {
		if applied < m.Index {
			_, in, err := snaps.Open(m.ID)
			if notNow(err) {
				return 0, err
			}
			if err != nil {
				continue // moved aside
			}
			in.Close()
		}
		return m.Index, n.sumOld(list[i:])
	}
	return 0, nil
}

// sumOld gives the snapshots of earlier versions their sums.
func (n *Node) sumOld(list []*hraft.SnapshotMeta) (err error) {
	s := checked{n: n}
	for _, m := range list {
		if _, there := os.Stat(filepath.Join(s.path(m.ID), sumFile)); errors.Is(there, fs.ErrNotExist) {
			err = errors.Join(err, s.sum(m.ID, m))
		}
	}
	return err
}
