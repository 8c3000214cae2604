package raft

import hraft "github.com/hashicorp/raft"

// A log that was cut begins where a snapshot ends, and the members are written in one of the two. Without that snapshot the
// library does not start, and the members are not known. So such a log counts as damaged (see openStore): the other members, or the
// state of a node that is alone, give this node another (see rejoin and refound).

// usableSnapshot is where the newest snapshot ends that can be used; 0 when there is none. One that the state is behind is to be
// restored, so all of it has to be whole.
func (n *Node) usableSnapshot(snaps hraft.SnapshotStore) (end uint64, err error) {
	list, err := snaps.List()
	if err != nil {
		return 0, err
	}
	applied, _ := n.sm.Applied()
	for _, m := range list {
		if applied < m.Index {
			_, in, err := snaps.Open(m.ID)
			if transient(err) {
				return 0, err
			}
			if err != nil {
				continue // moved aside
			}
			in.Close()
		}
		return m.Index, nil
	}
	return 0, nil
}
